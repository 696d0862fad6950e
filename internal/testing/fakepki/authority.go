// Package fakepki is a certificate authority for tests: of client certificates
// as OCM's registration agent requests them, and of a hub's own.
package fakepki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"
)

// User is the common name of the certificate of the add-on's agent on cluster1.
const User = "system:open-cluster-management:cluster:cluster1:addon:helloworld:agent:helloworld-agent"

// Authority issues certificates.
type Authority struct {
	// PEM is the certificate of the authority.
	PEM []byte

	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// New returns an authority with a new key.
func New(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, serial: 1}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0), IsCA: true, BasicConstraintsValid: true}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Issue returns a certificate for commonName in these groups, for client and server, and its key.
func (a *Authority) Issue(commonName string, notBefore, notAfter time.Time, groups ...string) (certPEM, keyPEM []byte) {
	a.t.Helper()
	a.serial++
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: commonName, Organization: groups},
		NotBefore: notBefore, NotAfter: notAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.certificate, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// Serial returns the serial number of the last certificate.
func (a *Authority) Serial() int64 { return a.serial }

// Fresh issues a certificate for User that is valid for an hour.
func (a *Authority) Fresh() (certPEM, keyPEM []byte) {
	a.t.Helper()
	return a.Issue(User, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

// Pair issues a certificate and its key, parsed.
func (a *Authority) Pair(commonName string, notBefore, notAfter time.Time) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(commonName, notBefore, notAfter))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// HubTLS returns the TLS configuration of a hub that accepts only client certificates
// of this authority.
func (a *Authority) HubTLS() *tls.Config {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM)
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{a.Pair("hub", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
}

// Kubeconfig returns the kubeconfig that OCM's registration agent writes for a server.
func (a *Authority) Kubeconfig(server string) string {
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
`, server, base64.StdEncoding.EncodeToString(a.PEM))
}
