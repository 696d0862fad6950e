package postgrestest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
)

// Certificate is a server's certificate with its key and its certificate authority, as PEM.
type Certificate struct {
	// Authority is for clients (sslrootcert).
	Authority []byte
	// Chain and Key are for the server.
	Chain, Key []byte
}

// NewCertificate returns a certificate for an IP address or a DNS name, signed by a new certificate authority.
func NewCertificate(host string) (Certificate, error) {
	chain, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return Certificate{}, fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	certificates, err := certutil.ParseCertsPEM(chain)
	if err != nil {
		return Certificate{}, fmt.Errorf("read the certificate for %s: %w", host, err)
	}
	for _, certificate := range certificates {
		if !certificate.IsCA {
			continue
		}
		authority, err := certutil.EncodeCertificates([]*x509.Certificate{certificate}...)
		return Certificate{Authority: authority, Chain: chain, Key: key}, err
	}
	return Certificate{}, fmt.Errorf("make a certificate for %s: it has no authority", host)
}

// Authority returns the PEM of the certificate authority of a server with Options.TLS, and nil for others.
func (s *Server) Authority() []byte { return s.authority }

// onlyEncrypted accepts only connections with TLS and a password, from any address.
const onlyEncrypted = "# TYPE DATABASE USER ADDRESS METHOD\nhostssl all all all scram-sha-256\n"

// encrypt gives the server a certificate for its address, and makes clients verify it.
func (s *Server) encrypt(address string) error {
	certificate, err := NewCertificate(address)
	if err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(s.dir, name) }
	for name, content := range map[string][]byte{
		"ca.crt": certificate.Authority, "server.crt": certificate.Chain, "server.key": certificate.Key,
		filepath.Join("data", "pg_hba.conf"): []byte(onlyEncrypted),
	} {
		if err := os.WriteFile(file(name), content, 0o600); err != nil {
			return err
		}
		if err := s.giveAway(file(name)); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{"ssl": "on", "ssl_cert_file": file("server.crt"), "ssl_key_file": file("server.key")} {
		s.settings[name] = value
	}
	s.authority = certificate.Authority
	s.base.RawQuery = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {file("ca.crt")}}.Encode()
	return nil
}

// giveAway makes the server's user the owner of files.
func (s *Server) giveAway(paths ...string) error {
	if s.user == nil {
		return nil
	}
	var errs []error
	for _, path := range paths {
		errs = append(errs, os.Chown(path, int(s.user.Uid), int(s.user.Gid)))
	}
	return errors.Join(errs...)
}

// validAddress returns the address that a temporary server listens on.
func validAddress(address string) (string, error) {
	if address == "" {
		return "127.0.0.1", nil
	}
	if net.ParseIP(address) == nil {
		return "", fmt.Errorf("%q is no IP address of this machine for PostgreSQL to listen on", address)
	}
	return address, nil
}
