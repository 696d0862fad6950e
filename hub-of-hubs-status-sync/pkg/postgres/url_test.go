package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	cases := []struct {
		name, url, want string
	}{
		{"as the documentation says", "postgres://user:s3cret@host:5432/db?sslmode=verify-full&pool_max_conns=50", ""},
		{"the other scheme", "postgresql://user:s3cret@host/db", ""},
		{"escaped", "postgres://user:s3c%40re%2Ft@host:5432/db", ""},
		{"empty", " ", "is empty"},
		{"another database", "mysql://user:s3cret@host/db", "does not begin with postgres://"},
		{"key=value form", "host=h user=u password=s3cret", "does not begin with postgres://"},
		{"a slash in the password", "postgres://user:s3c/ret@host:5432/db", "URL-escaped"},
		{"a question mark in the password", "postgres://user:s3c?ret@host:5432/db", "URL-escaped"},
		{"a hash in the password", "postgres://user:s3c#ret@host:5432/db", "URL-escaped"},
		{"a percent sign in the password", "postgres://user:s3c%ret@host:5432/db", "URL-escaped"},
		{"a space in the password", "postgres://user:s3c ret@host:5432/db", "URL-escaped"},
		{"a bracket in the password", "postgres://user:[s3cret@host:5432/db", "URL-escaped"},
		{"digits and a slash in the password", "postgres://user:1/s3cret@host:5432/db", "URL-escaped"},
		{"digits and a question mark in the password", "postgres://user:1?s3cret@host:5432/db", "URL-escaped"},
		{"no host", "postgres://user:s3cret@/db", "names no host"},
		{"an empty host", "postgres://user:s3cret@/db?host=", "names no host"},
		{"a socket's directory", "postgres://user:s3cret@/db?host=/var/run/postgresql", ""},
		{"a host as a parameter", "postgres:///db?host=host&user=user&password=s3cret", ""},
		{"a host as a parameter and a question mark in the password", "postgres://user:1?s3cret@/db&host=h", "URL-escaped"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := checkURL(c.url)
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a message with %q", err, c.want)
			}
			hides(t, err, "s3c", "ret@")
		})
	}
}

// TestParseHides: what pgx itself finds wrong must not show the password either.
func TestParseHides(t *testing.T) {
	cases := []struct{ name, url string }{
		{"a parameter out of range", "postgres://user:s3c%40ret@host:5432/db?pool_max_conns=0"},
		{"a parameter that is no number", "postgres://user:s3c%40ret@host:5432/db?pool_max_conns=s3c%40ret"},
		{"an unknown sslmode", "postgres://user:s3c%40ret@host:5432/db?sslmode=wrong"},
		{"a port out of range", "postgres://user:s3c%40ret@host:99999/db"},
		{"the password as a parameter", "postgres://user@host:5432/db?password=s3c%40ret&sslmode=wrong"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{URL: c.url})
			if err == nil {
				t.Fatal("accepted")
			}
			hides(t, err, "s3c@ret", "s3c%40ret")
			for cause := err; cause != nil; cause = errors.Unwrap(cause) {
				hides(t, cause, "s3c@ret", "s3c%40ret")
			}
		})
	}
}

// TestAuthorityHint: who has forgotten the certificate authority is not sent looking for a wrong password.
func TestAuthorityHint(t *testing.T) {
	noAuthority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(noAuthority, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"no file": noAuthority + ".missing", "no certificate": noAuthority} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{URL: "postgres://user:s3c%40ret@host:5432/db?sslmode=verify-full&sslrootcert=" + file})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), authorityHint) || strings.Contains(err.Error(), escapeHint) {
				t.Errorf("the message sends the reader to the wrong place: %v", err)
			}
			hides(t, err, "s3c@ret", "s3c%40ret")
		})
	}
}

func hides(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the message shows %q of the password: %v", secret, err)
		}
	}
}

func TestOpenOptions(t *testing.T) {
	_, err := Open(t.Context(), Options{URL: "postgres://user@host/db", QueryTimeout: -1})
	if err == nil || !strings.Contains(err.Error(), "query timeout") {
		t.Errorf("got %v, want the timeout to be refused", err)
	}
	store, err := Open(t.Context(), Options{URL: "postgres://user@127.0.0.1:1/db"})
	if err != nil {
		t.Fatalf("a database that is away must not be an error yet: %v", err)
	}
	defer store.Close()
	if err := store.Ping(t.Context()); err == nil {
		t.Error("there is no server, but it answers")
	}
}

// TestHostParameter: what is accepted is what pgx connects to.
func TestHostParameter(t *testing.T) {
	config, err := parse(t.Context(), "postgres://user:s3cret@/db?host=/var/run/postgresql")
	if err != nil {
		t.Fatal(err)
	}
	if got := config.ConnConfig.Host; got != "/var/run/postgresql" {
		t.Errorf("the host is %q, want the socket's directory", got)
	}
}

// TestConnections: how many there are does not depend on the machine, and some are left beside those that read.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		parameters string
		conns      int32
		reads      int64
	}{
		{"", 16, 13}, {"?sslmode=disable", 16, 13}, {"?pool_max_conns=50", 50, 47}, {"?pool_max_conns=4", 4, 1}, {"?pool_max_conns=1", 1, 1},
	} {
		config, err := parse(t.Context(), "postgres://user@host:5432/db"+c.parameters)
		if err != nil {
			t.Fatal(err)
		}
		if config.MaxConns != c.conns || readsAtOnce(config.MaxConns) != c.reads {
			t.Errorf("%q: %d connections, %d reads at once; want %d and %d", c.parameters, config.MaxConns, readsAtOnce(config.MaxConns), c.conns, c.reads)
		}
	}
}
