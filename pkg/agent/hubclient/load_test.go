package hubclient

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// kubeconfig is what OCM's registration agent writes.
func kubeconfig(server string, ca []byte) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: default-cluster
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: default-auth
  user: {client-certificate: tls.crt, client-key: tls.key}
contexts:
- name: default-context
  context: {cluster: default-cluster, user: default-auth, namespace: configuration}
current-context: default-context
`, server, base64.StdEncoding.EncodeToString(ca))
}

func TestLoad(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(user, now.Add(-time.Hour), now.Add(time.Hour))
	_, otherKey := ca.issue(user, now.Add(-time.Hour), now.Add(time.Hour))
	issue := func(commonName string, notBefore, notAfter time.Time) func(map[string][]byte) {
		return func(data map[string][]byte) {
			data["tls.crt"], data["tls.key"] = ca.issue(commonName, notBefore, notAfter)
		}
	}
	replace := func(old, now string) func(map[string][]byte) {
		return func(data map[string][]byte) {
			text := string(data["kubeconfig"])
			if !strings.Contains(text, old) {
				t.Fatalf("the kubeconfig has no %q", old)
			}
			data["kubeconfig"] = []byte(strings.ReplaceAll(text, old, now))
		}
	}
	set := func(key, value string) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = []byte(value) }
	}
	without := func(key string) func(map[string][]byte) {
		return func(data map[string][]byte) { delete(data, key) }
	}
	day := 24 * time.Hour
	tests := []struct {
		name   string
		change func(map[string][]byte)
		want   Reason
	}{
		{"as OCM writes it", func(map[string][]byte) {}, ""},
		{"files named with a dot", replace("client-certificate: tls.crt", "client-certificate: ./tls.crt"), ""},
		{"no kubeconfig yet: OCM writes the key first", without("kubeconfig"), KubeconfigMissing},
		{"empty kubeconfig", set("kubeconfig", ""), KubeconfigMissing},
		{"kubeconfig is no YAML", set("kubeconfig", "{"), KubeconfigInvalid},
		{"kubeconfig is another kind", set("kubeconfig", "apiVersion: v1\nkind: Secret\n"), KubeconfigInvalid},
		{"no current-context", replace("current-context: default-context", ""), KubeconfigInvalid},
		{"unknown context", replace("current-context: default-context", "current-context: x"), KubeconfigInvalid},
		{"unknown cluster", replace("cluster: default-cluster", "cluster: x"), KubeconfigInvalid},
		{"unknown user", replace("user: default-auth", "user: x"), KubeconfigInvalid},
		{"server is plain HTTP", replace("https://", "http://"), KubeconfigInvalid},
		{"no server", replace("https://hub.example.com:6443", ""), KubeconfigInvalid},
		{"CA is no PEM", replace("certificate-authority-data: ", "certificate-authority-data: eHl6 #"), KubeconfigInvalid},
		{"CA file not in the secret", replace("certificate-authority-data: ", "certificate-authority: ca.crt #"), KubeconfigInvalid},
		{"no certificate", without("tls.crt"), CertificateMissing},
		{"no key", without("tls.key"), CertificateMissing},
		{"empty certificate", set("tls.crt", ""), CertificateMissing},
		{"file outside the secret", replace("client-key: tls.key", "client-key: /etc/passwd"), CertificateMissing},
		{"certificate is no PEM", set("tls.crt", "x"), CertificateInvalid},
		{"key of another certificate", set("tls.key", string(otherKey)), CertificateInvalid},
		{"expired", issue(user, now.Add(-day), now), CertificateExpired},
		{"not valid yet", issue(user, now.Add(time.Minute), now.Add(day)), CertificateTooEarly},
		{"another cluster", issue(strings.Replace(user, "cluster1", "cluster2", 1), now.Add(-day), now.Add(day)), CertificateForOther},
		{"a cluster whose name begins alike", issue(strings.Replace(user, "cluster1", "cluster10", 1), now.Add(-day), now.Add(day)), CertificateForOther},
		{"another add-on", issue(strings.Replace(user, "helloworld:agent", "other:agent", 1), now.Add(-day), now.Add(day)), CertificateForOther},
		{"no agent name", issue(strings.TrimSuffix(user, "helloworld-agent"), now.Add(-day), now.Add(day)), CertificateForOther},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := map[string][]byte{"kubeconfig": []byte(kubeconfig("https://hub.example.com:6443", ca.pem)),
				"tls.crt": cert, "tls.key": key, "cluster-name": []byte("cluster1")}
			test.change(data)
			credentials, err := Load(data, identity, now)
			var bad *BadCredentials
			switch {
			case test.want == "" && (err != nil || credentials.Endpoint.Server != "https://hub.example.com:6443"):
				t.Errorf("got %v, %v", credentials, err)
			case test.want != "" && (!errors.As(err, &bad) || bad.Reason != test.want):
				t.Errorf("got %v, want %s", err, test.want)
			case test.want != "" && strings.Contains(err.Error(), "\n"):
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	ca := newAuthority(t)
	with := func(server string) *Credentials {
		return &Credentials{Endpoint: Endpoint{Server: server, CAData: ca.pem},
			Certificate: ca.pair(user, now, now.Add(time.Hour))}
	}
	first := with("https://a")
	same := &Credentials{Endpoint: first.Endpoint, Certificate: first.Certificate}
	otherCA := &Credentials{Endpoint: Endpoint{Server: "https://a", CAData: []byte("x")}, Certificate: first.Certificate}
	tests := []struct {
		name          string
		inUse, loaded *Credentials
		want          Decision
	}{
		{"nothing yet", nil, nil, Keep},
		{"first", nil, first, Connect},
		{"gone bad", first, nil, Keep},
		{"unchanged", first, same, Keep},
		{"renewed", first, with("https://a"), Rotate},
		{"another server", first, with("https://b"), Connect},
		{"another CA", first, otherCA, Connect},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Decide(test.inUse, test.loaded); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
