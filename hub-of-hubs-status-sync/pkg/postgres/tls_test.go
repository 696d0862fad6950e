//go:build postgres

package postgres

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
)

// TestTLS: a server that only takes verified connections is reached with its authority and in no other way, and each
// refusal says what to do without the password.
func TestTLS(t *testing.T) {
	server, err := postgrestest.Start(t.Context(), postgrestest.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	other, err := postgrestest.NewCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(file, other.Authority, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		change func(u *url.URL, query url.Values)
		want   string
	}{
		{"as the server says", func(*url.URL, url.Values) {}, ""},
		{"not encrypted", func(_ *url.URL, q url.Values) { q.Set("sslmode", "disable") }, "no encryption"},
		{"another authority", func(_ *url.URL, q url.Values) { q.Set("sslrootcert", file) }, authorityHint},
		{"no authority", func(_ *url.URL, q url.Values) { q.Del("sslrootcert") }, authorityHint},
		{"another name", func(u *url.URL, _ url.Values) { u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1) }, "localhost"},
		{"a wrong password", func(u *url.URL, _ url.Values) { u.User = url.UserPassword("owner", "wr0ng") }, escapeHint},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed, err := url.Parse(server.URL("postgres"))
			if err != nil {
				t.Fatal(err)
			}
			query := changed.Query()
			c.change(changed, query)
			changed.RawQuery = query.Encode()
			err = openURL(t, Options{URL: changed.String()}).Ping(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			hides(t, err, "wr0ng", postgrestest.Password, url.QueryEscape(postgrestest.Password))
		})
	}
}
