package doctor

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// authority returns a certificate of an authority, as PEM.
func authority(t *testing.T, name string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate.Raw})
}

func kubeconfigOf(server string, bundle ...[]byte) registration.Secret {
	data := base64.StdEncoding.EncodeToString(bytes.Join(bundle, nil))
	return registration.Secret{Data: map[string][]byte{"kubeconfig": []byte(`{clusters: [{name: a, cluster: {server: "` + server +
		`", certificate-authority-data: "` + data + `"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}`)}}
}

// TestServerOf: the person and the registration agent may reach one hub by different addresses.
func TestServerOf(t *testing.T) {
	ours, next, others := authority(t, "ours"), authority(t, "next"), authority(t, "others")
	for _, c := range []struct {
		name, reason string
		several      bool
		hub          registration.Secret
		bootstraps   []registration.Secret
		server       string
		other        string
	}{
		{"one hub, by its CA bundle", "", false, kubeconfigOf("https://inside", ours), []registration.Secret{kubeconfigOf("https://inside", ours)}, "https://inside", ""},
		{"one hub, by its address", "", false, kubeconfigOf("https://hub", others), nil, "https://hub", ""},
		{"an authority is replaced", "one bundle has both", false, kubeconfigOf("https://inside", next, ours), nil, "https://inside", ""},
		{"one hub that is another", "the judge compares the kubeconfigs", false, kubeconfigOf("https://hub2", others), []registration.Secret{kubeconfigOf("https://inside", ours)}, "https://inside", ""},
		{"joined another hub", "", true, kubeconfigOf("https://hub2", others), []registration.Secret{kubeconfigOf("https://inside", ours), kubeconfigOf("https://hub2", others)}, "https://inside", "https://hub2"},
		{"joined this hub", "", true, kubeconfigOf("https://inside", ours), []registration.Secret{kubeconfigOf("https://inside", ours), kubeconfigOf("https://hub2", others)}, "https://inside", ""},
		{"one authority for all hubs", "which is ours", true, kubeconfigOf("https://hub2", ours), []registration.Secret{kubeconfigOf("https://inside", ours), kubeconfigOf("https://hub2", ours)}, "", ""},
		{"one authority for all hubs, and our address", "", true, kubeconfigOf("https://hub2", ours), []registration.Secret{kubeconfigOf("https://hub", ours), kubeconfigOf("https://hub2", ours)}, "https://hub", "https://hub2"},
		{"through a proxy with another authority", "the agent may have another way", true, kubeconfigOf("https://inside", others), nil, "", ""},
		{"nothing", "", true, registration.Secret{}, []registration.Secret{{}}, "", ""},
	} {
		facts := registration.Facts{SeveralHubs: c.several, Hub: c.hub}
		for _, b := range c.bootstraps {
			facts.Bootstraps = append(facts.Bootstraps, registration.Bootstrap{Secret: b})
		}
		server := serverOf(facts, &rest.Config{Host: "https://hub", TLSClientConfig: rest.TLSClientConfig{CAData: ours}})
		if other := otherHub(facts, server); server != c.server || other != c.other {
			t.Errorf("%s: got server %q, other hub %q, want %q, %q: %s", c.name, server, other, c.server, c.other, c.reason)
		}
	}
}

// TestLeadsTo: without an address of the hub, nothing is known to lead there.
func TestLeadsTo(t *testing.T) {
	inside := kubeconfigOf("https://inside").Data
	for _, c := range []struct {
		name   string
		secret map[string][]byte
		server string
		want   bool
	}{
		{"the hub's address", inside, "https://inside", true},
		{"another hub's", inside, "https://hub2", false},
		{"an address that is not known", kubeconfigOf("").Data, "", false},
		{"no kubeconfig", nil, "https://inside", false},
	} {
		if got := leadsTo(c.secret, c.server); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}

// TestBootstrapLogin: only the credentials of a bootstrap kubeconfig are used, and only where it is one of the hub. Everything
// else in it is a managed cluster's word.
func TestBootstrapLogin(t *testing.T) {
	const good = `{clusters: [{name: a, cluster: {server: https://inside}}], users: [{name: a, user: {token: secret}}],
		contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}`
	hub := &rest.Config{Host: "https://hub", BearerToken: "mine"}
	for _, c := range []struct {
		name, reason, old, new string
		want                   bool
	}{
		{"of the hub", "", "", "", true},
		{"another hub", "it would answer 401 to a good one", "https://inside", "https://hub2", false},
		{"a token in a file", "of the person's machine", "token: secret", "tokenFile: /dev/zero", false},
		{"a certificate in a file", "", "token: secret", "client-certificate: /etc/passwd, client-key: /etc/passwd", false},
		{"a program", "it would run", "token: secret", "token: secret, exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", false},
		{"impersonation", "", "token: secret", "token: secret, as: admin", false},
		{"no user", "", "user: a}", "user: b}", false},
		{"no context", "", "current-context: a", "current-context: b", false},
		{"no kubeconfig", "", good, "{", false},
	} {
		config := bootstrapLogin([]byte(strings.Replace(good, c.old, c.new, 1)), "https://inside", hub)
		if (config != nil) != c.want {
			t.Errorf("%s: got %v: %s", c.name, config, c.reason)
		}
		if config != nil && (config.Host != "https://hub" || config.BearerToken != "secret" || config.Timeout != probeTimeout) {
			t.Errorf("%s: got host %s, token %q, timeout %s", c.name, config.Host, config.BearerToken, config.Timeout)
		}
	}
	if bootstrapLogin([]byte(strings.Replace(good, "https://inside", `""`, 1)), "", hub) != nil {
		t.Error("a hub that is not known is asked")
	}
}
