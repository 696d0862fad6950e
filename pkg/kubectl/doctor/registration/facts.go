// Package registration judges the credentials of Open Cluster Management's
// registration agent: which of its documented situations a managed cluster is in,
// which condition of a valid hub kubeconfig fails, what the agent does about that by
// itself, and what a person has to do. docs/situations.md describes the situations.
//
// Judge follows OCM v1.2.1, which decides in this order:
//
//	names          the agent's flags, or else the keys cluster-name and agent-name
//	bootstrap      with several hubs, the first bootstrap kubeconfig that works
//	hub kubeconfig there, parses, leads to the hub of the bootstrap kubeconfig
//	credentials    key and certificate there, issued for this agent, not expired
//	request        whether a certificate is requested, which OCM decides by other rules
//
// The rules are those of IsHubKubeConfigValidFunc in
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/common.go
// and of the CSR driver in
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/pkg/registration/register/csr.
// The tests of test/judge compare the judge with that code.
//
// The judge sees Secrets, as a new pod of the agent does. A running agent keeps the
// files that it wrote when a Secret or a key in it is deleted, until its pod ends.
//
// The package is pure: it reads no cluster and no clock, and it asks no hub. What a hub
// answers to a bootstrap kubeconfig is a fact. It does not judge the credentials of
// add-ons, which package credentials does for this add-on, nor the registration drivers
// awsirsa and grpc.
package registration

import (
	"time"

	operatorv1 "open-cluster-management.io/api/operator/v1"
)

// Driver is how the registration agent gets its credentials for the hub.
type Driver string

const (
	// CSR is a client certificate that the hub signs: OCM's default.
	CSR Driver = "csr"
	// Token is a token of a ServiceAccount on the hub. OCM v1.2.1 has it for add-ons only.
	Token Driver = "token"
)

// Names that OCM gives the Secrets of the registration agent.
const (
	BootstrapSecret = "bootstrap-hub-kubeconfig"
	HubSecret       = "hub-kubeconfig-secret"
)

// OCM's defaults of the Klusterlet's name and of its agents' namespace.
const (
	DefaultKlusterlet = "klusterlet"
	DefaultNamespace  = "open-cluster-management-agent"
)

// Keys of the two kinds of Secrets.
const (
	kubeconfigKey  = "kubeconfig"
	keyKey         = "tls.key"
	certificateKey = "tls.crt"
	tokenKey       = "token"
	clusterNameKey = "cluster-name"
	agentNameKey   = "agent-name"
)

// Facts are what is known of a registration agent.
type Facts struct {
	// Now is the time at which certificates and tokens are judged.
	Now time.Time
	// Mode is the Klusterlet's spec.deployOption.mode, by default Default.
	Mode operatorv1.InstallMode
	// Driver is the authType of the Klusterlet's registrationDriver, by default CSR.
	Driver Driver
	// Klusterlet is the Klusterlet's name, by default klusterlet.
	Klusterlet string
	// Namespace holds the Secrets and the agent: by default open-cluster-management-agent,
	// and in Hosted mode the Klusterlet's name.
	Namespace string
	// ClusterName is the Klusterlet's spec.clusterName. If it is empty, the agent takes
	// the name from the hub kubeconfig's Secret, or else makes one.
	ClusterName string
	// AgentName is the agent's flag --agent-id, which OCM's operator sets in the modes
	// Singleton and SingletonHosted. If it is empty, the same applies as to ClusterName.
	AgentName string
	// SeveralHubs reports whether the feature gate MultipleHubs is enabled.
	SeveralHubs bool
	// Bootstraps are the bootstrap kubeconfigs in the order of the Klusterlet's
	// localSecretsConfig. Without SeveralHubs there is one.
	Bootstraps []Bootstrap
	// Hub is the hub kubeconfig's Secret, by default named HubSecret.
	Hub Secret
	// ServiceAccountUID is the UID that a token has to be issued for. If it is empty,
	// every UID is accepted. CSR ignores it.
	ServiceAccountUID string
	// Kubectl begins the commands that reach the Secrets' cluster, by default kubectl.
	// For example, "kubectl --context=cluster1".
	Kubectl string
	// KubectlHub begins the commands that reach the hub, by default kubectl.
	KubectlHub string
}

// Secret is a Secret of the registration agent.
type Secret struct {
	Name string
	// Exists is false if there is no such Secret.
	Exists bool
	Data   map[string][]byte
}

// Bootstrap is a bootstrap kubeconfig, and what its hub says to it.
type Bootstrap struct {
	Secret
	// Rejected is the hub's answer if it rejects the credentials, or if they lack the
	// rights to join. For example, "401 Unauthorized". It is empty if the hub accepts
	// them, and if it was not asked.
	Rejected string
	// NotAccepted reports whether the hub has the ManagedCluster with hubAcceptsClient
	// false. OCM asks that of a bootstrap kubeconfig with several hubs only.
	NotAccepted bool
}

// detached reports whether the agent runs on another cluster than the managed one.
func (f Facts) detached() bool {
	return f.Mode == operatorv1.InstallModeHosted || f.Mode == operatorv1.InstallModeSingletonHosted
}

// Singleton reports whether one Deployment has both agents of OCM.
func (f Facts) Singleton() bool {
	return f.Mode == operatorv1.InstallModeSingleton || f.Mode == operatorv1.InstallModeSingletonHosted
}

// withDefaults returns the facts with OCM's defaults for what is empty.
func (f Facts) withDefaults() Facts {
	setDefault(&f.Mode, operatorv1.InstallModeDefault)
	setDefault(&f.Driver, CSR)
	setDefault(&f.Klusterlet, DefaultKlusterlet)
	setDefault(&f.Hub.Name, HubSecret)
	setDefault(&f.Kubectl, "kubectl")
	setDefault(&f.KubectlHub, "kubectl")
	if f.detached() {
		setDefault(&f.Namespace, f.Klusterlet)
	}
	setDefault(&f.Namespace, DefaultNamespace)
	bootstraps := append([]Bootstrap(nil), f.Bootstraps...)
	if len(bootstraps) == 0 {
		bootstraps = []Bootstrap{{}}
	}
	for i := range bootstraps {
		setDefault(&bootstraps[i].Name, BootstrapSecret)
	}
	f.Bootstraps = bootstraps
	return f
}

func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

// names are the cluster's name and the agent's, as the agent completes its flags. A name
// that it generates is random, and so it is in no certificate. See
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/common/options/agent.go
type names struct {
	cluster, agent name
}

type name struct {
	value     string
	generated bool
}

func (f Facts) names() names {
	return names{
		cluster: nameFrom(f.ClusterName, f.Hub, clusterNameKey),
		agent:   nameFrom(f.AgentName, f.Hub, agentNameKey),
	}
}

func nameFrom(flag string, hub Secret, key string) name {
	if flag != "" {
		return name{value: flag}
	}
	value, ok := hub.Data[key]
	return name{value: string(value), generated: !ok}
}

// given reports whether the agent knows the name. With an empty name OCM does not ask
// for whom a certificate was issued.
func (n name) given() bool { return n.generated || n.value != "" }

func (n name) is(value string) bool { return !n.generated && n.value == value }

func (n name) String() string {
	switch {
	case n.generated:
		return "(a new one at each start)"
	case n.value == "":
		return "(no name)"
	default:
		return n.value
	}
}
