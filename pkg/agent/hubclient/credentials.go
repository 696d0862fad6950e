package hubclient

import (
	"bytes"
	"crypto/tls"
	"slices"
	"strings"
	"time"
)

// Identity is who the credentials have to be issued for.
type Identity struct {
	// ClusterName is the managed cluster's name.
	ClusterName string
	// AddonName is the add-on's name.
	AddonName string
}

// ocmPrefix begins every user name that OCM gives to an agent.
const ocmPrefix = "system:open-cluster-management:"

// matchesUser says whether a certificate's common name is one of this
// identity: what OCM gives an add-on's agent, up to the name of the agent
// (open-cluster-management.io/addon-framework, pkg/agent, DefaultUser).
func (i Identity) matchesUser(commonName string) bool {
	agent, ok := strings.CutPrefix(commonName, ocmPrefix+"cluster:"+i.ClusterName+":addon:"+i.AddonName+":agent:")
	return ok && agent != ""
}

// serviceAccount is the user of the token that OCM's registration agent asks
// for where it gives add-ons tokens instead of certificates
// (open-cluster-management.io/ocm, pkg/registration/register/token).
func (i Identity) serviceAccount() string {
	return "system:serviceaccount:" + i.ClusterName + ":" + i.AddonName + "-agent"
}

// Policy is what is asked of credentials.
type Policy struct {
	Identity Identity
	// ByHand is for a kubeconfig that a person chose. It may log in as
	// somebody who is no agent of OCM's, or as nobody, and reach a server on
	// this machine by plain HTTP.
	ByHand bool
}

// Credentials are what is needed to connect to the hub.
type Credentials struct {
	Endpoint Endpoint
	Login    Login
}

// Login is how the agent says who it is.
type Login struct {
	// Certificate with its Leaf, or nil.
	Certificate *tls.Certificate
	// Token is a bearer token, or empty.
	Token string
	// NotAfter is when the first of the two expires; zero: not known.
	NotAfter time.Time
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

func (l Login) equal(other Login) bool {
	return l.Token == other.Token && slices.EqualFunc(l.chain(), other.chain(), bytes.Equal)
}

// chain is the certificate and those that come with it. Another key has
// another certificate.
func (l Login) chain() [][]byte {
	if l.Certificate == nil {
		return nil
	}
	return l.Certificate.Certificate
}
