package hubclient

import (
	"bytes"
	"crypto/tls"
	"time"
)

// Identity is who the client certificate has to be issued for.
type Identity struct {
	// ClusterName is the managed cluster's name.
	ClusterName string
	// AddonName is the add-on's name.
	AddonName string
}

// commonNamePrefix is the user name that OCM gives an add-on's agent, up to
// the name of the agent (open-cluster-management.io/addon-framework,
// pkg/agent, DefaultUser).
func (i Identity) commonNamePrefix() string {
	return "system:open-cluster-management:cluster:" + i.ClusterName + ":addon:" + i.AddonName + ":agent:"
}

// Credentials are what is needed to connect to the hub.
type Credentials struct {
	Endpoint    Endpoint
	Certificate tls.Certificate
}

// Endpoint is where the hub is, and how to know that it is the hub.
type Endpoint struct {
	// Server is the URL of the hub's API server.
	Server string
	// CAData holds PEM certificates; where empty, the system's are trusted.
	CAData []byte
	// ServerName is the name in the server's certificate, where it is not the
	// host of Server.
	ServerName string
	// ProxyURL is the proxy to go through; where empty, the environment's.
	ProxyURL string
	// Insecure accepts any server certificate.
	Insecure bool
}

func (e Endpoint) equal(other Endpoint) bool {
	return e.Server == other.Server && bytes.Equal(e.CAData, other.CAData) &&
		e.ServerName == other.ServerName && e.ProxyURL == other.ProxyURL && e.Insecure == other.Insecure
}

func (c *Credentials) sameCertificate(other *Credentials) bool {
	a, b := c.Certificate.Certificate, other.Certificate.Certificate
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// NotAfter is when the client certificate expires.
func (c *Credentials) NotAfter() time.Time {
	return c.Certificate.Leaf.NotAfter
}

// Reason says in one stable word what is wrong with credentials.
type Reason string

const (
	SecretMissing       Reason = "SecretMissing"
	KubeconfigMissing   Reason = "KubeconfigMissing"
	KubeconfigInvalid   Reason = "KubeconfigInvalid"
	CertificateMissing  Reason = "CertificateMissing"
	CertificateInvalid  Reason = "CertificateInvalid"
	CertificateExpired  Reason = "CertificateExpired"
	CertificateTooEarly Reason = "CertificateTooEarly"
	CertificateForOther Reason = "CertificateForOther"
)

// BadCredentials is the error for credentials that cannot be used.
type BadCredentials struct {
	Reason Reason
	// Message says more, for a person.
	Message string
}

func (e *BadCredentials) Error() string {
	return string(e.Reason) + ": " + e.Message
}
