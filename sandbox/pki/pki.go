// Package pki creates the certificates of one cluster of the sandbox: a certificate authority,
// serving and client certificates signed by it, and the key pair that signs service account
// tokens.
//
// It writes them to one directory, each pair as NAME.crt and NAME.key. It renews nothing, because a
// sandbox does not live as long as its certificates.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime is that of every certificate: longer than any sandbox lives.
const lifetime = 365 * 24 * time.Hour

// Authority signs the certificates of one cluster.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// Pair is a certificate and its key, as files and as PEM.
type Pair struct {
	CertFile, KeyFile string
	CertPEM, KeyPEM   []byte
}

// NewAuthority returns a new certificate authority, whose files are in dir (ca.crt, ca.key).
func NewAuthority(dir, name string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the certificates' directory: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the authority's key: %w", err)
	}
	caCert, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's certificate: %w", err)
	}
	a := &Authority{dir: dir, cert: caCert, key: key}
	if _, err := a.write("ca", caCert.Raw, key); err != nil {
		return nil, err
	}
	return a, nil
}

// LoadAuthority returns the authority that NewAuthority has written to dir.
func LoadAuthority(dir string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, fmt.Errorf("read the authority in %s: %w", dir, err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("read the authority in %s: its key cannot sign", dir)
	}
	return &Authority{dir: dir, cert: pair.Leaf, key: key}, nil
}

// CertFile returns the path of the authority's certificate.
func (a *Authority) CertFile() string { return filepath.Join(a.dir, "ca.crt") }

// KeyFile returns the path of the authority's key.
func (a *Authority) KeyFile() string { return filepath.Join(a.dir, "ca.key") }

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return encodeCert(a.cert.Raw) }

// Serving signs a server's certificate for the hosts, which are DNS names or IP addresses.
func (a *Authority) Serving(name string, hosts ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(name, template)
}

// Client signs a certificate for the user and the groups; name is the files' name.
func (a *Authority) Client(name, user string, groups ...string) (Pair, error) {
	return a.sign(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// ExpiredClient is like Client, but the certificate expired a minute ago.
func (a *Authority) ExpiredClient(name, user string, groups ...string) (Pair, error) {
	return a.sign(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(-time.Minute),
	})
}

// ServingLike signs a server's certificate for the names and addresses of another certificate.
func (a *Authority) ServingLike(name string, other *x509.Certificate) (Pair, error) {
	return a.sign(name, &x509.Certificate{
		Subject:     other.Subject,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    other.DNSNames,
		IPAddresses: other.IPAddresses,
	})
}

// Signed reports whether the authority has signed the certificate.
func (a *Authority) Signed(certificate *x509.Certificate) bool {
	return certificate.CheckSignatureFrom(a.cert) == nil
}

func (a *Authority) sign(name string, template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate the key of %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("draw a serial number for %s: %w", name, err)
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	if template.NotAfter.IsZero() {
		// A minute back, as kubeadm does: clocks of test machines jump.
		template.NotBefore = time.Now().Add(-time.Minute)
		template.NotAfter = time.Now().Add(lifetime)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	return a.write(name, der, key)
}

func (a *Authority) write(name string, der []byte, key crypto.PrivateKey) (Pair, error) {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the key of %s: %w", name, err)
	}
	p := Pair{
		CertFile: filepath.Join(a.dir, name+".crt"), CertPEM: encodeCert(der),
		KeyFile: filepath.Join(a.dir, name+".key"), KeyPEM: keyPEM,
	}
	if err := os.WriteFile(p.CertFile, p.CertPEM, 0o600); err != nil {
		return Pair{}, fmt.Errorf("write a certificate: %w", err)
	}
	if err := os.WriteFile(p.KeyFile, p.KeyPEM, 0o600); err != nil {
		return Pair{}, fmt.Errorf("write a key: %w", err)
	}
	return p, nil
}

// ServiceAccountKeys creates the RSA pair with which service account tokens are signed and verified,
// and returns the paths of its files.
func (a *Authority) ServiceAccountKeys() (private, public string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", fmt.Errorf("generate the service accounts' key: %w", err)
	}
	private, public = filepath.Join(a.dir, "sa.key"), filepath.Join(a.dir, "sa.pub")
	privatePEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return "", "", fmt.Errorf("encode the service accounts' key: %w", err)
	}
	publicPEM, err := encodePublic(&key.PublicKey)
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(private, privatePEM, 0o600); err != nil {
		return "", "", fmt.Errorf("write the service accounts' key: %w", err)
	}
	if err := os.WriteFile(public, publicPEM, 0o600); err != nil {
		return "", "", fmt.Errorf("write the service accounts' public key: %w", err)
	}
	return private, public, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

func encodePublic(key *rsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the service accounts' public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), nil
}
