package verdict

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// kubeconfigFor has the user as given, in YAML's flow style.
func kubeconfigFor(server string, ca []byte, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: default-cluster
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: default-auth
  user: {%s}
contexts:
- name: default-context
  context: {cluster: default-cluster, user: default-auth}
current-context: default-context
`, server, base64.StdEncoding.EncodeToString(ca), user)
}

// fromOCM is the user as OCM's registration agent writes it.
const fromOCM = "client-certificate: tls.crt, client-key: tls.key"

// TestOfCredentials: the reasons by which users of the sidecar know bad credentials.
func TestOfCredentials(t *testing.T) {
	ca := fakepki.New(t)
	now := time.Now()
	cert, key := ca.Issue("agent", now.Add(-time.Hour), now.Add(time.Hour))
	_, otherKey := ca.Issue("agent", now.Add(-time.Hour), now.Add(time.Hour))
	old, oldKey := ca.Issue("agent", now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := ca.Issue("agent", now.Add(time.Hour), now.Add(2*time.Hour))
	encode := base64.StdEncoding.EncodeToString
	const server = "https://hub.example.com:6443"
	user := func(user string, files ...[]byte) map[string][]byte {
		data := map[string][]byte{"kubeconfig": kubeconfigFor(server, ca.PEM, user)}
		for i, name := range []string{"tls.crt", "tls.key", "token"} {
			if i < len(files) && files[i] != nil {
				data[name] = files[i]
			}
		}
		return data
	}
	raw := func(kubeconfig string) map[string][]byte {
		return map[string][]byte{"kubeconfig": []byte(kubeconfig), "tls.crt": cert, "tls.key": key}
	}
	replaced := func(before, after string) map[string][]byte {
		return raw(strings.ReplaceAll(string(kubeconfigFor(server, ca.PEM, fromOCM)), before, after))
	}
	tests := []struct {
		name    string
		secret  map[string][]byte
		reason  Reason // empty: usable
		message string
	}{
		{"files beside it, as OCM writes it", user(fromOCM, cert, key), "", ""},
		{"files by a path", user("client-certificate: ./tls.crt, client-key: ./tls.key", cert, key), "", ""},
		{"inlined data", user("client-certificate-data: " + encode(cert) + ", client-key-data: " + encode(key)), "", ""},
		{"a token", user("token: abc"), "", ""},
		{"a token's file beside it", user("tokenFile: token", nil, nil, []byte("abc\n")), "", ""},
		{"no kubeconfig", map[string][]byte{"tls.crt": cert}, KubeconfigMissing, "no kubeconfig"},
		{"an empty kubeconfig", raw(""), KubeconfigMissing, "no kubeconfig"},
		{"no YAML", raw("{"), KubeconfigInvalid, ""},
		{"no current context", replaced("current-context: default-context", ""), KubeconfigInvalid, "no current-context"},
		{"an unknown context", replaced("current-context: default-context", "current-context: other"), KubeconfigInvalid, `no context "other"`},
		{"an unknown user", replaced("user: default-auth", "user: other"), KubeconfigInvalid, `no user "other"`},
		{"an unknown cluster", replaced("cluster: default-cluster,", "cluster: other,"), KubeconfigInvalid, `no cluster "other"`},
		{"no server", replaced(server, "hub"), KubeconfigInvalid, "is not an https URL"},
		{"a CA that is none", replaced(encode(ca.PEM), encode([]byte("x"))), KubeconfigInvalid, "no PEM certificate"},
		{"no certificate's file", user(fromOCM, nil, key), CredentialsMissing, `the file "tls.crt", which does not exist`},
		{"no key's file", user(fromOCM, cert), CredentialsMissing, `the file "tls.key", which does not exist`},
		{"no key at all", user("client-certificate: tls.crt", cert), CredentialsMissing, "no client-key"},
		{"no user", user(""), CredentialsMissing, "neither"},
		{"a program to run", user("exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}"), CredentialsMissing, "a program (exec)"},
		{"another certificate's key", user(fromOCM, cert, otherKey), CertificateInvalid, "do not belong together"},
		{"half a certificate", user(fromOCM, cert[:100], key), CertificateInvalid, ""},
		{"expired", user(fromOCM, old, oldKey), CertificateExpired, "expired at"},
		{"not valid yet", user(fromOCM, early, earlyKey), CertificateTooEarly, "check the clock"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, err := credentials.Load(test.secret, credentials.Policy{AnyUser: true}, now)
			status := credentials.Status{Source: "secret addons/creds"}
			if err != nil {
				errors.As(err, &status.Problem)
			} else {
				status.Server, status.NotAfter = loaded.Endpoint.Server, loaded.Login.NotAfter
			}
			cause := OfCredentials(status, now)
			if cause == nil {
				cause = &Cause{}
			}
			if cause.Reason != test.reason || !strings.Contains(cause.Message, test.message) || strings.Contains(cause.Message, "\n") {
				t.Errorf("got %v, want %s: …%s… in one line", cause, test.reason, test.message)
			}
		})
	}
}

// TestOfStatus: the states beside a Secret that is rejected.
func TestOfStatus(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name   string
		status credentials.Status
		want   Reason
	}{
		{"no Secret", credentials.Status{Problem: credentials.Errorf(credentials.SecretMissing, "deleted")}, SecretMissing},
		{"the Secret cannot be read", credentials.Status{Problem: credentials.Errorf(credentials.SourceUnreadable, "forbidden")}, ClusterUnreadable},
		{"not loaded yet", credentials.Status{}, Starting},
		{"expired in use", credentials.Status{Server: "https://hub", NotAfter: now}, CertificateExpired},
		{"in use", credentials.Status{Server: "https://hub", NotAfter: now.Add(time.Second)}, ""},
		{"in use, does not expire", credentials.Status{Server: "https://hub"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cause := OfCredentials(test.status, now)
			if cause == nil {
				cause = &Cause{}
			}
			if cause.Reason != test.want {
				t.Errorf("got %v, want %s", cause, test.want)
			}
		})
	}
}
