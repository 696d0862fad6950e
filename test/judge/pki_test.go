package judge

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// keys are private keys, and their PEM, that the cases share.
type keys struct {
	private []*ecdsa.PrivateKey
	pem     [][]byte
	// ca are certificates of two authorities.
	ca [][]byte
}

func newKeys(t *testing.T) keys {
	t.Helper()
	var k keys
	for range 2 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		der, err := x509.MarshalECPrivateKey(key)
		must(t, err)
		k.private = append(k.private, key)
		k.pem = append(k.pem, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	}
	for range 2 {
		k.ca = append(k.ca, k.issue(t, certificate{name: "authority", from: -time.Hour, to: time.Hour}))
	}
	return k
}

// certificate describes a certificate. Its life is relative to now.
type certificate struct {
	name          string
	groups, units []string
	from, to      time.Duration
	// headers gives its PEM block a header, with which OCM ignores it.
	headers bool
}

// issue returns a self-signed certificate: OCM's check does not verify signatures.
func (k keys) issue(t *testing.T, c certificate) []byte {
	t.Helper()
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: c.name, Organization: c.groups, OrganizationalUnit: c.units},
		NotBefore:    now.Add(c.from), NotAfter: now.Add(c.to),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.private[0].Public(), k.private[0])
	must(t, err)
	block := &pem.Block{Type: "CERTIFICATE", Bytes: der}
	if c.headers {
		block.Headers = map[string]string{"Note": "ignored"}
	}
	return pem.EncodeToMemory(block)
}

func (k keys) chain(t *testing.T, certificates []certificate) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, c := range certificates {
		all.Write(k.issue(t, c))
	}
	return all.Bytes()
}

// webToken returns an unsigned JSON Web Token with these claims.
func webToken(t *testing.T, claims map[string]any) []byte {
	t.Helper()
	payload, err := json.Marshal(claims)
	must(t, err)
	return []byte("e30." + base64.RawURLEncoding.EncodeToString(payload) + ".c2lnbmF0dXJl")
}
