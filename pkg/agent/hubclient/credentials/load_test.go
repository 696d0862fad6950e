package credentials

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
)

var (
	now      = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	identity = Identity{ClusterName: "cluster1", AddonName: "helloworld"}
)

// material is the data of a Secret, for tests that damage it.
type material struct {
	t    *testing.T
	ca   *fakepki.Authority
	data map[string][]byte
}

func newMaterial(t *testing.T, ca *fakepki.Authority) *material {
	t.Helper()
	m := &material{t: t, ca: ca, data: map[string][]byte{
		"kubeconfig": []byte(ca.Kubeconfig("https://hub.example.com:6443")), "cluster-name": []byte("cluster1")}}
	m.issue(fakepki.User, now.Add(-time.Hour), now.Add(time.Hour))
	return m
}

func (m *material) issue(commonName string, notBefore, notAfter time.Time) {
	m.t.Helper()
	m.data["tls.crt"], m.data["tls.key"] = m.ca.Issue(commonName, notBefore, notAfter)
}

func (m *material) replace(old, now string) {
	m.t.Helper()
	text := string(m.data["kubeconfig"])
	if !strings.Contains(text, old) {
		m.t.Fatalf("the kubeconfig has no %q", old)
	}
	m.data["kubeconfig"] = []byte(strings.ReplaceAll(text, old, now))
}

// login is the user in the kubeconfig.
const login = "{client-certificate: tls.crt, client-key: tls.key}"

// token returns an unsigned JSON Web Token with these claims.
func token(t *testing.T, claims map[string]any) []byte {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return []byte("e30." + base64.RawURLEncoding.EncodeToString(payload) + ".x\n")
}

// spoiled is a case of damaged, or good, credentials.
type spoiled struct {
	name   string
	spoil  func(m *material)
	want   Reason
	byHand bool
	// anyUser is the policy for another add-on's credentials.
	anyUser bool
}

func withToken(t *testing.T, claims map[string]any) func(m *material) {
	t.Helper()
	return func(m *material) {
		m.replace(login, "{tokenFile: token}")
		m.data["token"] = token(t, claims)
	}
}

func kubeconfigCases() []spoiled {
	replace := func(old, now string) func(*material) { return func(m *material) { m.replace(old, now) } }
	set := func(key, value string) func(*material) { return func(m *material) { m.data[key] = []byte(value) } }
	return []spoiled{
		{name: "as OCM writes it", spoil: func(*material) {}},
		{name: "files named with a dot", spoil: replace("client-certificate: tls.crt", "client-certificate: ./tls.crt")},
		{name: "no kubeconfig yet", spoil: func(m *material) { delete(m.data, "kubeconfig") }, want: KubeconfigMissing},
		{name: "empty kubeconfig", spoil: set("kubeconfig", ""), want: KubeconfigMissing},
		{name: "kubeconfig is no YAML", spoil: set("kubeconfig", "{"), want: KubeconfigInvalid},
		{name: "kubeconfig is another kind", spoil: set("kubeconfig", "apiVersion: v1\nkind: Secret\n"), want: KubeconfigInvalid},
		{name: "half a kubeconfig", spoil: func(m *material) { m.data["kubeconfig"] = m.data["kubeconfig"][:60] }, want: KubeconfigInvalid},
		{name: "no current-context", spoil: replace("current-context: default-context", ""), want: KubeconfigInvalid},
		{name: "unknown context", spoil: replace("current-context: default-context", "current-context: x"), want: KubeconfigInvalid},
		{name: "unknown cluster", spoil: replace("cluster: default-cluster", "cluster: x"), want: KubeconfigInvalid},
		{name: "unknown user", spoil: replace("user: default-auth", "user: x"), want: KubeconfigInvalid},
		{name: "server is plain HTTP", spoil: replace("https://", "http://"), want: ServerInvalid},
		{name: "server is plain HTTP, by hand", spoil: replace("https://", "http://"), want: ServerInvalid, byHand: true},
		{name: "server is plain HTTP on this machine, by hand", byHand: true,
			spoil: replace("https://hub.example.com:6443", "http://127.0.0.1:8001")},
		{name: "server is plain HTTP on this machine", want: ServerInvalid,
			spoil: replace("https://hub.example.com:6443", "http://127.0.0.1:8001")},
		{name: "server is plain HTTP, any add-on", spoil: replace("https://", "http://"), anyUser: true},
		{name: "no server", spoil: replace("https://hub.example.com:6443", ""), want: ServerInvalid},
		{name: "proxy is no URL", spoil: replace("cluster: {", "cluster: {proxy-url: 'proxy:3128', "), want: ProxyInvalid},
		{name: "proxy of another kind", spoil: replace("cluster: {", "cluster: {proxy-url: 'ftp://proxy', "), want: ProxyInvalid},
		{name: "proxy", spoil: replace("cluster: {", "cluster: {proxy-url: 'http://proxy:3128', ")},
		{name: "CA is no PEM", spoil: replace("certificate-authority-data: ", "certificate-authority-data: eHl6 }\n#"), want: CAInvalid},
		{name: "CA file is not there", spoil: replace("certificate-authority-data: ", "certificate-authority: ca.crt }\n#"), want: CAMissing},
		{name: "CA file is empty", want: CAInvalid, spoil: func(m *material) {
			m.replace("certificate-authority-data: ", "certificate-authority: ca.crt }\n#")
			m.data["ca.crt"] = nil
		}},
	}
}

func loginCases(t *testing.T, ca *fakepki.Authority) []spoiled {
	t.Helper()
	day := 24 * time.Hour
	_, otherKey := ca.Issue(fakepki.User, now.Add(-time.Hour), now.Add(time.Hour))
	replace := func(old, now string) func(*material) { return func(m *material) { m.replace(old, now) } }
	set := func(key, value string) func(*material) { return func(m *material) { m.data[key] = []byte(value) } }
	without := func(key string) func(*material) { return func(m *material) { delete(m.data, key) } }
	issue := func(commonName string, notBefore, notAfter time.Time) func(*material) {
		return func(m *material) { m.issue(commonName, notBefore, notAfter) }
	}
	admin := issue("kubernetes-admin", now.Add(-day), now.Add(day))
	other := issue(strings.Replace(fakepki.User, "cluster1", "cluster2", 1), now.Add(-day), now.Add(day))
	return []spoiled{
		{name: "no key", spoil: without("tls.key"), want: KeyMissing},
		{name: "empty key", spoil: set("tls.key", ""), want: KeyMissing},
		{name: "no key is named", spoil: replace(", client-key: tls.key", ""), want: KeyMissing},
		{name: "file outside the secret", spoil: replace("client-key: tls.key", "client-key: /etc/passwd"), want: KeyMissing},
		{name: "key is no PEM", spoil: set("tls.key", "x"), want: KeyInvalid},
		{name: "half a key", spoil: func(m *material) { m.data["tls.key"] = m.data["tls.key"][:90] }, want: KeyInvalid},
		{name: "no certificate", spoil: without("tls.crt"), want: CertificateMissing},
		{name: "empty certificate", spoil: set("tls.crt", ""), want: CertificateMissing},
		{name: "no certificate is named", spoil: replace("client-certificate: tls.crt, ", ""), want: CertificateMissing},
		{name: "certificate is no PEM", spoil: set("tls.crt", "x"), want: CertificateInvalid},
		{name: "half a certificate", spoil: func(m *material) { m.data["tls.crt"] = m.data["tls.crt"][:200] }, want: CertificateInvalid},
		{name: "key of another certificate, half-way through a renewal", spoil: set("tls.key", string(otherKey)), want: KeyMismatch},
		{name: "expired", spoil: issue(fakepki.User, now.Add(-day), now), want: CertificateExpired},
		{name: "not valid yet", spoil: issue(fakepki.User, now.Add(time.Minute), now.Add(day)), want: CertificateTooEarly},
		{name: "another cluster", spoil: other, want: CertificateForOther},
		{name: "another cluster, by hand", spoil: other, want: CertificateForOther, byHand: true},
		{name: "a cluster whose name begins alike", want: CertificateForOther,
			spoil: issue(strings.Replace(fakepki.User, "cluster1", "cluster10", 1), now.Add(-day), now.Add(day))},
		{name: "another add-on", want: CertificateForOther,
			spoil: issue(strings.Replace(fakepki.User, "helloworld:agent", "other:agent", 1), now.Add(-day), now.Add(day))},
		{name: "no agent name", spoil: issue(strings.TrimSuffix(fakepki.User, "helloworld-agent"), now.Add(-day), now.Add(day)), want: CertificateForOther},
		{name: "not an agent of OCM's", spoil: admin, want: CertificateForOther},
		{name: "not an agent of OCM's, by hand", spoil: admin, byHand: true},
		{name: "another cluster, any add-on", spoil: other, anyUser: true},
		{name: "expired, any add-on", spoil: issue("agent", now.Add(-day), now), want: CertificateExpired, anyUser: true},
		{name: "nothing to log in with, any add-on", spoil: replace(login, "{}"), want: CredentialsMissing, anyUser: true},
		{name: "nothing to log in with", spoil: replace(login, "{}"), want: CredentialsMissing},
		{name: "nothing to log in with, by hand", spoil: replace(login, "{}"), byHand: true},
		{name: "a program to log in with", want: CredentialsUnsupported, byHand: true,
			spoil: replace(login, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}}")},
		{name: "a password", spoil: replace(login, "{username: a, password: b}"), want: CredentialsUnsupported},
		{name: "inlined", spoil: func(m *material) {
			m.replace(login, fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}",
				base64.StdEncoding.EncodeToString(m.data["tls.crt"]), base64.StdEncoding.EncodeToString(m.data["tls.key"])))
			delete(m.data, "tls.crt")
			delete(m.data, "tls.key")
		}},
	}
}

func tokenCases(t *testing.T) []spoiled {
	t.Helper()
	const subject = "system:serviceaccount:cluster1:helloworld-agent"
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	return []spoiled{
		{name: "token", spoil: withToken(t, map[string]any{"sub": subject, "exp": at(time.Hour)})},
		{name: "token without an end", spoil: withToken(t, map[string]any{"sub": subject})},
		{name: "token in the kubeconfig", spoil: func(m *material) { m.replace(login, "{token: opaque}") }},
		{name: "token file is not there", spoil: func(m *material) { m.replace(login, "{tokenFile: token}") }, want: TokenMissing},
		{name: "token expired", spoil: withToken(t, map[string]any{"sub": subject, "exp": at(0)}), want: TokenExpired},
		{name: "token not valid yet", spoil: withToken(t, map[string]any{"sub": subject, "nbf": at(time.Hour)}), want: TokenTooEarly},
		{name: "token of another cluster", want: TokenForOther,
			spoil: withToken(t, map[string]any{"sub": "system:serviceaccount:cluster2:helloworld-agent"})},
		{name: "token of another account", want: TokenForOther,
			spoil: withToken(t, map[string]any{"sub": "system:serviceaccount:cluster1:default"})},
		{name: "an expired token, any add-on: its hub decides", anyUser: true,
			spoil: withToken(t, map[string]any{"sub": "system:serviceaccount:cluster2:default", "exp": at(0)})},
		{name: "token of another account, by hand", byHand: true,
			spoil: withToken(t, map[string]any{"sub": "system:serviceaccount:cluster1:default"})},
	}
}

func TestLoad(t *testing.T) {
	ca := fakepki.New(t)
	tests := append(kubeconfigCases(), loginCases(t, ca)...)
	for _, test := range append(tests, tokenCases(t)...) {
		t.Run(test.name, func(t *testing.T) {
			m := newMaterial(t, ca)
			test.spoil(m)
			credentials, err := Load(m.data, Policy{Identity: identity, ByHand: test.byHand, AnyUser: test.anyUser}, now)
			var bad *Error
			switch {
			case test.want == "" && (err != nil || credentials.Endpoint.Server == ""):
				t.Errorf("got %v, %v", credentials, err)
			case test.want != "" && (!errors.As(err, &bad) || bad.Reason != test.want):
				t.Errorf("got %v, want %s", err, test.want)
			case test.want != "" && strings.Contains(err.Error(), "\n"):
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestLoadsWhatExpiresFirst(t *testing.T) {
	ca := fakepki.New(t)
	m := newMaterial(t, ca)
	m.replace(login, "{client-certificate: tls.crt, client-key: tls.key, tokenFile: token}")
	m.data["token"] = token(t, map[string]any{"sub": identity.serviceAccount(), "exp": now.Add(time.Minute).Unix()})
	credentials, err := Load(m.data, Policy{Identity: identity}, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := credentials.Login.NotAfter; !got.Equal(now.Add(time.Minute)) {
		t.Errorf("expires at %s", got)
	}
	if strings.TrimSpace(credentials.Login.Token) != credentials.Login.Token {
		t.Error("the token has white space, which no header can have")
	}
}

func TestFilesOf(t *testing.T) {
	text := strings.Replace(fakepki.New(t).Kubeconfig("https://a"), "certificate-authority-data: ", "certificate-authority: ../ca.crt }\n#", 1)
	if diff := cmp.Diff([]string{"../ca.crt", "tls.crt", "tls.key"}, FilesOf([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if names := FilesOf([]byte("{")); names != nil {
		t.Errorf("garbage names %q", names)
	}
}

func TestDecide(t *testing.T) {
	ca := fakepki.New(t)
	with := func(change func(*Credentials)) *Credentials {
		pair := ca.Pair(fakepki.User, now, now.Add(time.Hour))
		c := &Credentials{Endpoint: Endpoint{Server: "https://a", CAData: ca.PEM}, Login: Login{Certificate: &pair}}
		change(c)
		return c
	}
	first := with(func(*Credentials) {})
	same := func(change func(*Credentials)) *Credentials {
		c := *first
		change(&c)
		return &c
	}
	tests := []struct {
		name          string
		inUse, loaded *Credentials
		broken        bool
		want          Decision
	}{
		{name: "nothing yet", want: Keep},
		{name: "first", loaded: first, want: Connect},
		{name: "gone bad", inUse: first, want: Keep},
		{name: "unchanged", inUse: first, loaded: same(func(*Credentials) {}), want: Keep},
		{name: "unchanged, and the hub is away", inUse: first, loaded: same(func(*Credentials) {}), broken: true, want: Keep},
		{name: "renewed", inUse: first, loaded: with(func(*Credentials) {}), want: Rotate},
		{name: "renewed, when the hub had stopped to know the old one", inUse: first, loaded: with(func(*Credentials) {}), broken: true, want: Connect},
		{name: "another token", inUse: first, loaded: same(func(c *Credentials) { c.Login.Token = "x" }), want: Rotate},
		{name: "another server", inUse: first, loaded: same(func(c *Credentials) { c.Endpoint.Server = "https://b" }), want: Connect},
		{name: "another CA", inUse: first, loaded: same(func(c *Credentials) { c.Endpoint.CAData = []byte("x") }), want: Connect},
		{name: "another proxy", inUse: first, loaded: same(func(c *Credentials) { c.Endpoint.ProxyURL = "http://p" }), want: Connect},
		{name: "another server name", inUse: first, loaded: same(func(c *Credentials) { c.Endpoint.ServerName = "n" }), want: Connect},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Decide(test.inUse, test.loaded, !test.broken); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
