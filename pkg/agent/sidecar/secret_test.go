package sidecar

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
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

func secretWith(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "addons", Name: "creds"}, Data: data}
}

func TestLoad(t *testing.T) {
	ca := fakepki.New(t)
	now := time.Now()
	cert, key := ca.Issue("agent", now.Add(-time.Hour), now.Add(time.Hour))
	_, otherKey := ca.Issue("agent", now.Add(-time.Hour), now.Add(time.Hour))
	old, oldKey := ca.Issue("agent", now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := ca.Issue("agent", now.Add(time.Hour), now.Add(2*time.Hour))
	encode := base64.StdEncoding.EncodeToString
	const server = "https://hub.example.com:6443"
	user := func(user string, files ...[]byte) *corev1.Secret {
		data := map[string][]byte{"kubeconfig": kubeconfigFor(server, ca.PEM, user)}
		for i, name := range []string{"tls.crt", "tls.key", "token"} {
			if i < len(files) && files[i] != nil {
				data[name] = files[i]
			}
		}
		return secretWith(data)
	}
	raw := func(kubeconfig string) *corev1.Secret {
		return secretWith(map[string][]byte{"kubeconfig": []byte(kubeconfig), "tls.crt": cert, "tls.key": key})
	}
	replaced := func(before, after string) *corev1.Secret {
		return raw(strings.ReplaceAll(string(kubeconfigFor(server, ca.PEM, fromOCM)), before, after))
	}
	tests := []struct {
		name    string
		secret  *corev1.Secret
		reason  Reason // empty: usable
		message string
	}{
		{"files beside it, as OCM writes it", user(fromOCM, cert, key), "", ""},
		{"files by a path", user("client-certificate: ./tls.crt, client-key: ./tls.key", cert, key), "", ""},
		{"inlined data", user("client-certificate-data: " + encode(cert) + ", client-key-data: " + encode(key)), "", ""},
		{"a token", user("token: abc"), "", ""},
		{"a token's file beside it", user("tokenFile: token", nil, nil, []byte("abc\n")), "", ""},
		{"no secret", nil, SecretMissing, "has not written it yet"},
		{"no kubeconfig", secretWith(map[string][]byte{"tls.crt": cert}), KubeconfigMissing, `no key "kubeconfig"`},
		{"an empty kubeconfig", raw(""), KubeconfigMissing, `no key "kubeconfig"`},
		{"no YAML", raw("{"), KubeconfigInvalid, ""},
		{"no current context", replaced("current-context: default-context", ""), KubeconfigInvalid, "no current-context"},
		{"an unknown context", replaced("current-context: default-context", "current-context: other"), KubeconfigInvalid, `no context "other"`},
		{"an unknown user", replaced("user: default-auth", "user: other"), KubeconfigInvalid, `no user "other"`},
		{"an unknown cluster", replaced("cluster: default-cluster,", "cluster: other,"), KubeconfigInvalid, `no cluster "other"`},
		{"no server", replaced(server, "hub"), KubeconfigInvalid, "is no URL"},
		{"a CA that is none", replaced(encode(ca.PEM), encode([]byte("x"))), KubeconfigInvalid, "no PEM certificate"},
		{"no certificate's file", user(fromOCM, nil, key), CredentialsMissing, `the file "tls.crt", which is no key of the secret`},
		{"no key's file", user(fromOCM, cert), CredentialsMissing, `the file "tls.key", which is no key of the secret`},
		{"no key at all", user("client-certificate: tls.crt", cert), CredentialsMissing, "needs both"},
		{"nobody", user(""), CredentialsMissing, "neither"},
		{"a program to run", user("exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}"), CredentialsMissing, "another program"},
		{"another certificate's key", user(fromOCM, cert, otherKey), CertificateInvalid, "private key does not match"},
		{"half a certificate", user(fromOCM, cert[:100], key), CertificateInvalid, ""},
		{"expired", user(fromOCM, old, oldKey), CertificateExpired, "expired at"},
		{"not valid yet", user(fromOCM, early, earlyKey), CertificateTooEarly, "is the clock right?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			credentials, cause := Load(test.secret)
			if cause == nil {
				cause = credentials.Valid(now)
			}
			if cause == nil {
				cause = &Cause{}
			}
			if cause.Reason != test.reason || !strings.Contains(cause.Message, test.message) || strings.Contains(cause.Message, "\n") {
				t.Errorf("got %v, want %s: …%s… in one line", cause, test.reason, test.message)
			}
			if test.reason == "" {
				if _, err := connect(credentials, "cluster1"); err != nil {
					t.Errorf("cannot be used: %v", err)
				}
			}
		})
	}
}
