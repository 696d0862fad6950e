package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world has a cluster that is joined, until a test changes it.
type world struct {
	t      *testing.T
	facts  Facts
	keyPEM []byte
	key    *ecdsa.PrivateKey
}

const (
	firstHub  = "https://hub.example.com:6443"
	secondHub = "https://hub2.example.com:6443"
)

// newWorld returns facts with a valid bootstrap kubeconfig, and the hub kubeconfig that the
// agent writes with it.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	w.keyPEM = pemOfKey(t, w.key)
	w.facts = Facts{Now: now, ClusterName: "cluster1"}
	w.facts.Bootstraps = []Bootstrap{{Secret: w.bootstrapOf(firstHub)}}
	w.facts.Hub = Secret{Exists: true, Data: map[string][]byte{
		"kubeconfig": w.written(0), "cluster-name": []byte("cluster1"), "agent-name": []byte("agent1"), "tls.key": w.keyPEM}}
	w.issue(-time.Hour, 23*time.Hour, nil)
	return w
}

func pemOfKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// bootstrapOf returns the Secret of a bootstrap kubeconfig.
func (w *world) bootstrapOf(server string) Secret {
	w.t.Helper()
	return Secret{Exists: true, Data: map[string][]byte{"kubeconfig": w.encode(&clientcmdapi.Config{
		CurrentContext: "bootstrap",
		Contexts:       map[string]*clientcmdapi.Context{"bootstrap": {Cluster: "hub", AuthInfo: "user"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: server, CertificateAuthorityData: read(w.t, "ca.crt")}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": {Token: "credential-"}},
	})}}
}

// written returns the hub kubeconfig that the agent writes with this bootstrap kubeconfig.
func (w *world) written(index int) []byte {
	w.t.Helper()
	config, _ := parse(w.facts.Bootstraps[index].Data["kubeconfig"])
	of, missing := current(config, nil)
	if missing != "" {
		w.t.Fatal(missing)
	}
	raw, err := of.expected(CSR)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

func (w *world) encode(config *clientcmdapi.Config) []byte {
	w.t.Helper()
	raw, err := encode(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// issue gives the hub kubeconfig a certificate with a life relative to now.
func (w *world) issue(from, to time.Duration, change func(*x509.Certificate)) {
	w.t.Helper()
	w.facts.Hub.Data["tls.crt"] = w.certificate(from, to, change)
}

func (w *world) certificate(from, to time.Duration, change func(*x509.Certificate)) []byte {
	w.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(to),
		Subject: pkix.Name{CommonName: "system:open-cluster-management:cluster1:agent1",
			Organization: []string{"system:open-cluster-management:cluster1", "system:open-cluster-management:managed-clusters"}},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, w.key.Public(), w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// name issues a certificate for another user.
func (w *world) name(user string) {
	w.issue(-time.Hour, 23*time.Hour, func(c *x509.Certificate) { c.Subject.CommonName = user })
}

// set sets a key of the hub kubeconfig's Secret, and remove removes one.
func (w *world) set(key, value string) { w.facts.Hub.Data[key] = []byte(value) }

func (w *world) remove(key string) { delete(w.facts.Hub.Data, key) }

// kubeconfig changes the hub kubeconfig.
func (w *world) kubeconfig(change func(*clientcmdapi.Config)) {
	w.t.Helper()
	config, _ := parse(w.facts.Hub.Data["kubeconfig"])
	change(config)
	w.facts.Hub.Data["kubeconfig"] = w.encode(config)
}

// hubCluster changes the cluster in the hub kubeconfig.
func (w *world) hubCluster(change func(*clientcmdapi.Cluster)) {
	w.kubeconfig(func(c *clientcmdapi.Config) { change(c.Clusters["hub"]) })
}

// bootstrap changes the kubeconfig of a bootstrap kubeconfig's Secret.
func (w *world) bootstrap(index int, change func(*clientcmdapi.Config)) {
	w.t.Helper()
	data := w.facts.Bootstraps[index].Data
	config, _ := parse(data["kubeconfig"])
	change(config)
	data["kubeconfig"] = w.encode(config)
}

// expire gives a bootstrap kubeconfig a token that has expired.
func (w *world) expire(index int) {
	w.bootstrap(index, func(c *clientcmdapi.Config) {
		c.AuthInfos["user"].Token = string(w.token(-2*time.Hour, -time.Hour, ""))
	})
}

// twoHubs adds a bootstrap kubeconfig of a second hub.
func (w *world) twoHubs() {
	w.facts.SeveralHubs = true
	second := w.bootstrapOf(secondHub)
	second.Name = "bootstrap-hub-kubeconfig-hub2"
	w.facts.Bootstraps = append(w.facts.Bootstraps, Bootstrap{Secret: second})
}

// noHub removes the hub kubeconfig's Secret.
func (w *world) noHub() { w.facts.Hub = Secret{} }

// noBootstrap removes the Secret of a bootstrap kubeconfig.
func (w *world) noBootstrap(index int) {
	w.facts.Bootstraps[index].Secret = Secret{Name: w.facts.Bootstraps[index].Name}
}

func (w *world) token(from, to time.Duration, uid string) []byte {
	w.t.Helper()
	payload, err := json.Marshal(map[string]any{"iat": now.Add(from).Unix(), "exp": now.Add(to).Unix(),
		"kubernetes.io": map[string]any{"serviceaccount": map[string]any{"uid": uid}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return []byte("e30." + base64.RawURLEncoding.EncodeToString(payload) + ".x")
}

// withToken makes the hub kubeconfig one of the driver Token.
func (w *world) withToken(from, to time.Duration, uid string) {
	w.facts.Driver, w.facts.ServiceAccountUID = Token, "a9f8"
	w.remove("tls.key")
	w.remove("tls.crt")
	w.kubeconfig(func(c *clientcmdapi.Config) {
		c.AuthInfos["default-auth"] = &clientcmdapi.AuthInfo{TokenFile: "token"}
	})
	w.set("token", string(w.token(from, to, uid)))
}
