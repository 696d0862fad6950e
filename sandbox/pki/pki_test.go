package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestCertificatesAreForWhatTheyAreAskedFor(t *testing.T) {
	authority, err := NewAuthority(filepath.Join(t.TempDir(), "pki"), "test-ca")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority.PEM()) {
		t.Fatal("the authority's PEM holds no certificate")
	}
	serving, err := authority.Serving("server", "127.0.0.1", "example.local")
	if err != nil {
		t.Fatal(err)
	}
	leaf := parse(t, serving)
	for _, host := range []string{"127.0.0.1", "example.local"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool}); err != nil {
			t.Errorf("the serving certificate is not good for %s: %v", host, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("a serving certificate is good for a client")
	}
	client, err := authority.Client("admin", "kubernetes-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	leaf = parse(t, client)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the client certificate is not good for a client: %v", err)
	}
	if leaf.Subject.CommonName != "kubernetes-admin" {
		t.Errorf("user %q", leaf.Subject.CommonName)
	}
	if diff := cmp.Diff([]string{"system:masters"}, leaf.Subject.Organization); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(client.KeyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a key is readable by others: %v %v", info.Mode(), err)
	}
}

func parse(t *testing.T, pair Pair) *x509.Certificate {
	t.Helper()
	loaded, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		t.Fatalf("the files are no pair: %v", err)
	}
	return loaded.Leaf
}

func TestMergedKubeconfigHasAllContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	merged := Merge(
		Kubeconfig("hub", "https://127.0.0.1:1", nil, User{Token: "a"}),
		Kubeconfig("cluster1", "https://127.0.0.1:2", nil, User{Token: "b"}),
	)
	if err := WriteKubeconfig(file, merged); err != nil {
		t.Fatal(err)
	}
	got, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.CurrentContext != "hub" {
		t.Errorf("current context %q, want the first one, hub", got.CurrentContext)
	}
	servers := map[string]string{}
	for name, context := range got.Contexts {
		servers[name] = got.Clusters[context.Cluster].Server + " " + got.AuthInfos[context.AuthInfo].Token
	}
	want := map[string]string{"hub": "https://127.0.0.1:1 a", "cluster1": "https://127.0.0.1:2 b"}
	if diff := cmp.Diff(want, servers); diff != "" {
		t.Error(diff)
	}
}
