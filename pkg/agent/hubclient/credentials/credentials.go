// Package credentials decides whether credentials for the hub can be used, and
// what a change of them requires. It is pure: a kubeconfig, the files that it
// names, a policy and the time go in, a value or a Reason comes out. Package
// hubclient reads the files and connects.
//
// Load returns the Credentials, or an *Error with exactly one Reason. Decide
// compares them with those in use. Status and StateOf describe the result for
// readiness checks, conditions and events.
package credentials

import (
	"bytes"
	"crypto/tls"
	"slices"
	"strings"
	"time"
)

// Identity is the add-on agent that credentials have to be issued to.
type Identity struct {
	// ClusterName is the name of the managed cluster.
	ClusterName string
	// AddonName is the name of the add-on.
	AddonName string
}

// ocmPrefix begins the user name of every agent of Open Cluster Management.
const ocmPrefix = "system:open-cluster-management:"

// matchesUser reports whether commonName is a user of this identity, with any
// agent name. For example, the user of cluster10 does not match cluster1. See
// DefaultUser in
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/agent/interface.go
func (i Identity) matchesUser(commonName string) bool {
	agent, ok := strings.CutPrefix(commonName, ocmPrefix+"cluster:"+i.ClusterName+":addon:"+i.AddonName+":agent:")
	return ok && agent != ""
}

// serviceAccount returns the user of the token that OCM's registration agent
// requests where add-ons get tokens instead of certificates. See
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/pkg/registration/register/token
func (i Identity) serviceAccount() string {
	return "system:serviceaccount:" + i.ClusterName + ":" + i.AddonName + "-agent"
}

// Policy limits which credentials Load accepts. The zero Policy with an Identity
// accepts what OCM's registration agent writes for that identity.
type Policy struct {
	Identity Identity
	// ByHand is for a kubeconfig that a person chose. It also accepts a user
	// that is not an OCM agent, no user at all, and plain HTTP to a loopback
	// address, for example of kubectl proxy.
	ByHand bool
	// AnyUser is for the credentials of any add-on. It accepts every user and
	// plain HTTP, ignores Identity, and does not read the claims of a token.
	AnyUser bool
}

// Credentials hold what a client needs to connect to the hub.
type Credentials struct {
	Endpoint Endpoint
	Login    Login
}

// Login authenticates the client to the hub.
type Login struct {
	// Certificate is the client certificate with its Leaf, or nil.
	Certificate *tls.Certificate
	// Token is a bearer token, or empty.
	Token string
	// NotAfter is when the first of the two expires, or zero if that is not
	// known.
	NotAfter time.Time
}

// Endpoint locates and authenticates the hub.
type Endpoint struct {
	// Server is the URL of the hub's API server.
	Server string
	// CAData holds PEM certificates. If it is empty, the system's are trusted.
	CAData []byte
	// ServerName is the name in the server's certificate, if it is not the host
	// of Server.
	ServerName string
	// ProxyURL is the proxy. If it is empty, the environment's is used.
	ProxyURL string
	// Insecure accepts any server certificate.
	Insecure bool
}

func (e Endpoint) equal(other Endpoint) bool {
	return e.Server == other.Server && bytes.Equal(e.CAData, other.CAData) &&
		e.ServerName == other.ServerName && e.ProxyURL == other.ProxyURL && e.Insecure == other.Insecure
}

// equal compares certificates, not keys: a key belongs to one certificate.
func (l Login) equal(other Login) bool {
	return l.Token == other.Token && slices.EqualFunc(l.chain(), other.chain(), bytes.Equal)
}

func (l Login) chain() [][]byte {
	if l.Certificate == nil {
		return nil
	}
	return l.Certificate.Certificate
}

// Decision is what to do with the credentials that were loaded.
type Decision string

const (
	// Keep changes nothing, also if nothing is in use.
	Keep Decision = "Keep"
	// Connect starts from the beginning on a new connection: there was none, or
	// the endpoint is another one, or the hub does not answer.
	Connect Decision = "Connect"
	// Rotate reconnects to the same endpoint with the new login. Informers keep
	// their content.
	Rotate Decision = "Rotate"
)

// Decide compares the credentials in use, nil for none, with the loaded ones, nil
// if they were rejected. Working means that the hub answers on the connection and
// accepts its login. If it does not, the informers on the connection back off for
// up to a minute, and Connect makes new ones that start at once.
func Decide(inUse, loaded *Credentials, working bool) Decision {
	switch {
	case loaded == nil:
		return Keep
	case inUse == nil || !inUse.Endpoint.equal(loaded.Endpoint):
		return Connect
	case inUse.Login.equal(loaded.Login):
		return Keep
	case !working:
		return Connect
	default:
		return Rotate
	}
}
