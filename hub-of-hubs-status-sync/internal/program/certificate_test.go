package program

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// writeCertificate writes that of httptest, for example.com, and returns the directory and what verifies it.
func writeCertificate(t *testing.T) (string, *x509.CertPool) {
	t.Helper()
	server, dir := httptest.NewTLSServer(nil), t.TempDir()
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return dir, pool
}

// TestMetricsCertificate: a client can verify the server of the metrics before it sends its token.
func TestMetricsCertificate(t *testing.T) {
	dir, pool := writeCertificate(t)
	opts := newTestOptions()
	opts.Kubeconfig, opts.MetricsCertDir, opts.LeaderElect = kubeconfigFile(t), dir, false
	opts.MetricsAddr, opts.ProbeAddr = free(t), free(t)
	if err := errors.Join(opts.Problems()...); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Program[*store]{Options: opts, Open: func(context.Context, string) (*store, error) { return &store{}, nil },
			Add: func(manager.Manager, *store) error { return nil }})
	}()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var connection *tls.Conn
		if connection, err = tls.Dial("tcp", opts.MetricsAddr, &tls.Config{RootCAs: pool, ServerName: "example.com"}); err == nil {
			connection.Close()
			break
		}
	}
	if err != nil {
		t.Errorf("the certificate is not served: %v", err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMetricsCertificateProblems: without its files the program would serve a certificate that nobody can verify.
func TestMetricsCertificateProblems(t *testing.T) {
	dir, _ := writeCertificate(t)
	for _, test := range []struct {
		name, dir string
		secure    bool
		want      string
	}{
		{"no such directory", "/no/such", true, `--metrics-cert-dir="/no/such" has no usable tls.crt and tls.key: open /no/such/tls.crt: no such file or directory`},
		{"served by HTTP", dir, false, `--metrics-cert-dir="` + dir + `" has no effect with --metrics-secure=false: remove one of the two`},
	} {
		opts := newTestOptions()
		opts.MetricsCertDir, opts.MetricsSecure = test.dir, test.secure
		if err := errors.Join(opts.Problems()...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
}
