package credentials

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// loadLogin returns the login of the kubeconfig's user: a certificate with its
// key, a token, or both.
func loadLogin(files files, user *clientcmdapi.AuthInfo, policy Policy, now time.Time) (*Login, error) {
	if way := unsupported(user); way != "" {
		return nil, Errorf(CredentialsUnsupported,
			"the kubeconfig's user logs in by %s: give it a client-certificate and a client-key, or a token", way)
	}
	login := &Login{}
	withCertificate := user.ClientCertificate != "" || len(user.ClientCertificateData) > 0 ||
		user.ClientKey != "" || len(user.ClientKeyData) > 0
	withToken := user.Token != "" || user.TokenFile != ""
	if withCertificate {
		certificate, err := loadCertificate(files, user)
		if err != nil {
			return nil, err
		}
		if err := checkCertificate(certificate.Leaf, policy, now); err != nil {
			return nil, err
		}
		login.Certificate, login.NotAfter = certificate, certificate.Leaf.NotAfter
	}
	if withToken {
		token, expiry, err := loadToken(files, user, policy, now)
		if err != nil {
			return nil, err
		}
		login.Token, login.NotAfter = token, earlier(login.NotAfter, expiry)
	}
	if !withCertificate && !withToken && !policy.ByHand {
		return nil, Errorf(CredentialsMissing, "the kubeconfig's user has neither a client-certificate and a client-key nor a token")
	}
	return login, nil
}

// unsupported names the user's login method if it is not supported.
func unsupported(user *clientcmdapi.AuthInfo) string {
	switch {
	case user.Exec != nil:
		return "a program (exec)"
	case user.AuthProvider != nil:
		return "an auth-provider"
	case user.Username != "" || user.Password != "":
		return "a password"
	case user.Impersonate != "":
		return "impersonation"
	default:
		return ""
	}
}

// earlier returns the earlier of two times. Zero means that a time is not known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// loadCertificate returns the client certificate with its key, after checking that
// both parse and that they belong together.
func loadCertificate(files files, user *clientcmdapi.AuthInfo) (*tls.Certificate, error) {
	const missing = "the kubeconfig's %s is the file %q, which does not exist or is empty"
	keyPEM, ok := files.read(user.ClientKeyData, user.ClientKey)
	switch {
	case !ok || len(keyPEM) == 0 && user.ClientKey != "":
		return nil, Errorf(KeyMissing, missing, "client-key", user.ClientKey)
	case len(keyPEM) == 0:
		return nil, Errorf(KeyMissing, "the kubeconfig's user has a client-certificate and no client-key")
	}
	certPEM, ok := files.read(user.ClientCertificateData, user.ClientCertificate)
	switch {
	case !ok || len(certPEM) == 0 && user.ClientCertificate != "":
		return nil, Errorf(CertificateMissing, missing, "client-certificate", user.ClientCertificate)
	case len(certPEM) == 0:
		return nil, Errorf(CertificateMissing, "the kubeconfig's user has a client-key and no client-certificate")
	}
	leaf, err := parseLeaf(certPEM)
	if err != nil {
		return nil, Errorf(CertificateInvalid, "the client certificate does not parse: %s", OneLine(err))
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, Errorf(KeyInvalid, "the client key does not parse: %s", OneLine(err))
	}
	// tls.X509KeyPair checks this too, but without an error type of its own.
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(leaf.PublicKey) {
		return nil, Errorf(KeyMismatch, "the client certificate and the client key do not belong together")
	}
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, Errorf(CertificateInvalid, "%s", OneLine(err))
	}
	certificate.Leaf = leaf
	return &certificate, nil
}

// parseLeaf returns the first certificate in raw.
func parseLeaf(raw []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("it contains no PEM certificate")
}

// parseKey returns the first private key in raw, by the rules of tls.X509KeyPair.
func parseKey(raw []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PRIVATE KEY" && !strings.HasSuffix(block.Type, " PRIVATE KEY") {
			continue
		}
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, errors.New("it is not an RSA, ECDSA or Ed25519 key, or it is encrypted")
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("it cannot sign")
	}
	return nil, errors.New("it contains no PEM private key")
}

// acceptsUser reports whether the policy accepts a certificate with this common
// name. By hand, the certificate of another OCM agent is still a mistake.
func (p Policy) acceptsUser(commonName string) bool {
	return p.AnyUser || p.Identity.matchesUser(commonName) || p.ByHand && !strings.HasPrefix(commonName, ocmPrefix)
}

func checkCertificate(leaf *x509.Certificate, policy Policy, now time.Time) error {
	user := leaf.Subject.CommonName
	switch {
	case !policy.acceptsUser(user):
		return Errorf(CertificateForOther, "the certificate is for %q, not for an agent of add-on %s on cluster %s",
			user, policy.Identity.AddonName, policy.Identity.ClusterName)
	case !now.Before(leaf.NotAfter):
		expired := Errorf(CertificateExpired, "the certificate expired at %s", stamp(leaf.NotAfter))
		expired.NotAfter = leaf.NotAfter
		return expired
	case now.Before(leaf.NotBefore):
		return Errorf(CertificateTooEarly, "the certificate is not valid before %s: check the clock", stamp(leaf.NotBefore))
	default:
		return nil
	}
}

// claims are the claims of a JSON Web Token that are checked. See
// https://www.rfc-editor.org/rfc/rfc7519#section-4.1
type claims struct {
	Subject   string `json:"sub"`
	Expiry    int64  `json:"exp"`
	NotBefore int64  `json:"nbf"`
}

// loadToken returns the token and when it expires, or zero if that is not known. A
// token that is not a JSON Web Token is not checked: only the hub can verify it.
func loadToken(files files, user *clientcmdapi.AuthInfo, policy Policy, now time.Time) (string, time.Time, error) {
	// The file takes precedence over the field, as in client-go.
	raw := []byte(user.Token)
	if user.TokenFile != "" {
		raw, _ = files.read(nil, user.TokenFile)
	}
	token := string(bytes.TrimSpace(raw))
	if token == "" {
		return "", time.Time{}, Errorf(TokenMissing, "the kubeconfig's tokenFile is the file %q, which does not exist or is empty", user.TokenFile)
	}
	c, ok := parseClaims(token)
	if !ok || policy.AnyUser {
		return token, time.Time{}, nil
	}
	expiry, notBefore := time.Unix(c.Expiry, 0), time.Unix(c.NotBefore, 0)
	switch {
	case !policy.ByHand && c.Subject != policy.Identity.serviceAccount():
		return "", time.Time{}, Errorf(TokenForOther, "the token is for %q, not for the agent of add-on %s on cluster %s",
			c.Subject, policy.Identity.AddonName, policy.Identity.ClusterName)
	case c.Expiry != 0 && !now.Before(expiry):
		return "", time.Time{}, Errorf(TokenExpired, "the token expired at %s", stamp(expiry))
	case now.Before(notBefore):
		return "", time.Time{}, Errorf(TokenTooEarly, "the token is not valid before %s: check the clock", stamp(notBefore))
	case c.Expiry == 0:
		return token, time.Time{}, nil
	default:
		return token, expiry, nil
	}
}

func parseClaims(token string) (claims, bool) {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && json.Unmarshal(payload, &c) == nil
}
