package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// escapeHint is the cause for nearly every URL that does not parse.
const escapeHint = "the password has to be URL-escaped (@ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25)"

// authorityHint is what to do when the database's certificate cannot be verified.
const authorityHint = "sslrootcert in the URL has to name a file with the certificate authority of the database's certificate"

// hintFor returns what to do when pgx cannot use a URL: an unreadable file of the certificate authority has nothing to do
// with the password.
func hintFor(message string) string {
	if strings.Contains(message, "CA file") || strings.Contains(message, "CA to cert pool") {
		return authorityHint
	}
	return escapeHint
}

// errNoURL is the error of an empty URL.
var errNoURL = errors.New("the database URL is empty: " +
	"set DATABASE_URL to postgres://user:password@host:5432/database?sslmode=verify-full")

// checkURL returns an error that names the fault of a database URL without quoting any part of it: each part may be a piece
// of a password with wrong escaping.
func checkURL(raw string) error {
	if strings.TrimSpace(raw) == "" {
		return errNoURL
	}
	if !strings.HasPrefix(raw, "postgres://") && !strings.HasPrefix(raw, "postgresql://") {
		return errors.New("the database URL (DATABASE_URL) does not begin with postgres://")
	}
	parsed, err := url.Parse(raw)
	switch {
	case err != nil:
		return fmt.Errorf("the database URL (DATABASE_URL) is not a URL: %s", escapeHint)
	case strings.Contains(raw, "#"):
		return fmt.Errorf("the database URL (DATABASE_URL) contains #: %s", escapeHint)
	case parsed.Hostname() == "" && parsed.Query().Get("host") == "":
		return fmt.Errorf("the database URL (DATABASE_URL) names no host, before the database or as host=: %s", escapeHint)
	case strings.Contains(parsed.Path, "@") || strings.Contains(parsed.RawQuery, "@"):
		return fmt.Errorf("the database URL (DATABASE_URL) has @ behind the host: %s", escapeHint)
	}
	return nil
}

// hasParameter reports whether a URL sets a parameter.
func hasParameter(raw, name string) bool {
	parsed, err := url.Parse(raw)
	return err == nil && parsed.Query().Get(name) != ""
}

// secretsOf returns the secrets of a database URL, in every escaping that a message may contain.
func secretsOf(raw string) []string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return []string{raw}
	}
	secrets := []string{raw}
	if password, ok := parsed.User.Password(); ok {
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
		if _, escaped, ok := strings.Cut(parsed.User.String(), ":"); ok {
			secrets = append(secrets, escaped)
		}
	}
	for _, name := range []string{"password", "sslpassword"} {
		for _, value := range parsed.Query()[name] {
			secrets = append(secrets, value, url.QueryEscape(value))
		}
	}
	return secrets
}

// redact replaces the secrets in a message.
func redact(message string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "xxxxx")
		}
	}
	return message
}
