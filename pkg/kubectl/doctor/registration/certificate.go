package registration

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Names of OCM's users on the hub. See
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/pkg/registration/hub/user
const (
	userPrefix    = "system:open-cluster-management:"
	clustersGroup = userPrefix + "managed-clusters"
)

// chain is the content of tls.crt.
type chain []*x509.Certificate

// parseChain returns the certificates in PEM data, as ParseCertsPEM of client-go does: it
// ignores other blocks, and fails if there is no certificate.
func parseChain(data []byte) (chain, bool) {
	var found chain
	for len(data) > 0 {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, false
		}
		found = append(found, certificate)
	}
	return found, len(found) > 0
}

// issuedFor returns the cluster and the agent in the first user name of an agent that the
// certificates have, or two empty names.
func (c chain) issuedFor() (cluster, agent string) {
	for _, certificate := range c {
		name, ok := strings.CutPrefix(certificate.Subject.CommonName, userPrefix)
		if parts := strings.Split(name, ":"); ok && len(parts) == 2 {
			return parts[0], parts[1]
		}
	}
	return "", ""
}

// notAfter returns when the first of the certificates expires.
func (c chain) notAfter() time.Time {
	first := c[0].NotAfter
	for _, certificate := range c {
		if certificate.NotAfter.Before(first) {
			first = certificate.NotAfter
		}
	}
	return first
}

// notBefore returns when the last of the certificates becomes valid.
func (c chain) notBefore() time.Time {
	last := c[0].NotBefore
	for _, certificate := range c {
		if certificate.NotBefore.After(last) {
			last = certificate.NotBefore
		}
	}
	return last
}

// expired reports whether one of the certificates has expired. OCM does not ask whether
// they are valid yet.
func (c chain) expired(now time.Time) bool { return now.After(c.notAfter()) }

// hasSubject reports whether a certificate has exactly the subject that the agent requests.
func (c chain) hasSubject(of names) bool {
	groups := sets.New(userPrefix+of.cluster.value, clustersGroup)
	return slices.ContainsFunc(c, func(certificate *x509.Certificate) bool {
		subject := certificate.Subject
		return subject.CommonName == userPrefix+of.cluster.value+":"+of.agent.value &&
			sets.New(subject.Organization...).Equal(groups) && len(subject.OrganizationalUnit) == 0
	})
}

// The agent requests a new certificate when less than a part of its life is left that
// it chooses at random between these two at each check.
const (
	renewsAlways = 0.2
	renewsFrom   = 0.25
)

// left returns the part of the life that is left.
func left(notBefore, notAfter, now time.Time) float64 {
	return notAfter.Sub(now).Seconds() / notAfter.Sub(notBefore).Seconds()
}

// keyFits reports whether key is the private key of the first certificate, which is the
// one that a client presents.
func keyFits(certificate, key []byte) bool {
	_, err := tls.X509KeyPair(certificate, key)
	return err == nil
}
