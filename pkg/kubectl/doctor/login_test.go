package doctor

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestBootstrapLogin: only the credentials of a bootstrap kubeconfig are used, and only where it is one of the hub. Everything
// else in it is a managed cluster's word.
func TestBootstrapLogin(t *testing.T) {
	const good = `{clusters: [{name: a, cluster: {server: https://elsewhere, certificate-authority-data: Y2E=}}], users: [{name: a, user: {token: secret}}],
		contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}`
	hub := &rest.Config{Host: "https://hub", BearerToken: "mine", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca\n")}}
	for _, c := range []struct {
		name, reason, old, new string
		want                   bool
	}{
		{"the hub's CA bundle", "its address inside may be another one", "", "", true},
		{"the hub's address", "", "https://elsewhere, certificate-authority-data: Y2E=", "https://hub", true},
		{"another hub", "it would answer 401 to a good one", "Y2E=", "eA==", false},
		{"a token in a file", "of the person's machine", "token: secret", "tokenFile: /dev/zero", false},
		{"a certificate in a file", "", "token: secret", "client-certificate: /etc/passwd, client-key: /etc/passwd", false},
		{"a program", "it would run", "token: secret", "token: secret, exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", false},
		{"impersonation", "", "token: secret", "token: secret, as: admin", false},
		{"no user", "", "user: a}", "user: b}", false},
		{"no context", "", "current-context: a", "current-context: b", false},
		{"no kubeconfig", "", good, "{", false},
	} {
		config := bootstrapLogin([]byte(strings.Replace(good, c.old, c.new, 1)), hub)
		if (config != nil) != c.want {
			t.Errorf("%s: got %v: %s", c.name, config, c.reason)
		}
		if config != nil && (config.Host != "https://hub" || config.BearerToken != "secret" || config.Timeout != probeTimeout) {
			t.Errorf("%s: got host %s, token %q, timeout %s", c.name, config.Host, config.BearerToken, config.Timeout)
		}
	}
}
