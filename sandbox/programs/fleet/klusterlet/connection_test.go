package klusterlet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// writeCertificate writes a self-signed client certificate of the user and its key to dir.
func writeCertificate(t *testing.T, dir, user string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": keyPEM, "tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// connectToFake returns a connection to a server that answers with the user's name, and the
// directory with the user's certificate.
func connectToFake(t *testing.T) (*connection, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)

	dir := t.TempDir()
	writeCertificate(t, dir, "first")
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificate: "tls.crt", ClientKey: "tls.key"}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "user"}
	config.CurrentContext = "hub"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	c, err := newConnection(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c, dir
}

// user asks the server for the user of the connection.
func user(t *testing.T, c *connection) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.config.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}

// TestConnectionUsesARotatedCertificate checks that the connection keeps its certificate until it
// looks for a new one, and that it then opens another connection.
func TestConnectionUsesARotatedCertificate(t *testing.T) {
	c, dir := connectToFake(t)
	want := func(name string) {
		t.Helper()
		if got, err := user(t, c); got != name || err != nil {
			t.Errorf("user %q, error %v, want %q", got, err, name)
		}
	}
	want("first")
	c.refresh(t.Context())
	if rotated, err := c.rotated(); rotated || err != nil {
		t.Errorf("rotated %v, error %v, want the same certificate", rotated, err)
	}

	writeCertificate(t, dir, "second")
	// client-go reads the files once a second
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) { return c.rotated() }); err != nil {
		t.Fatal(err)
	}
	want("first")
	c.refresh(t.Context())
	want("second")
	if rotated, err := c.rotated(); rotated || err != nil {
		t.Errorf("rotated %v, error %v, want the same certificate", rotated, err)
	}
}

func TestClosedConnectionIsNotOpenedAgain(t *testing.T) {
	c, _ := connectToFake(t)
	if got, err := user(t, c); got != "first" || err != nil {
		t.Fatalf("user %q, error %v", got, err)
	}
	c.close()
	if _, err := user(t, c); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want %v", err, errClosed)
	}
}
