package registration

// Condition is the stable name of a condition that is not met.
type Condition string

// The conditions of a valid hub kubeconfig, in OCM's order. OCM stops at the first that
// is not met.
const (
	// NameInvalid: the cluster's name is empty, or cannot be the name of a namespace.
	NameInvalid Condition = "NameInvalid"
	// KubeconfigMissing: there is no Secret, or no kubeconfig in it.
	KubeconfigMissing Condition = "KubeconfigMissing"
	// KubeconfigInvalid: it does not parse, or has no current context or cluster.
	KubeconfigInvalid Condition = "KubeconfigInvalid"
	// ServerDiffers: the server is another one than in the bootstrap kubeconfig.
	ServerDiffers Condition = "ServerDiffers"
	// ProxyDiffers: so is the proxy-url.
	ProxyDiffers Condition = "ProxyDiffers"
	// CADiffers: so is the CA bundle, also where both have the same content.
	CADiffers Condition = "CADiffers"
	// ClusterDiffers: so is the name of the current context's cluster.
	ClusterDiffers Condition = "ClusterDiffers"
	// KeyMissing: there is no private key.
	KeyMissing Condition = "KeyMissing"
	// CertificateMissing: there is no certificate.
	CertificateMissing Condition = "CertificateMissing"
	// CertificateInvalid: it does not parse.
	CertificateInvalid Condition = "CertificateInvalid"
	// CertificateForOther: it is issued for another cluster or agent.
	CertificateForOther Condition = "CertificateForOther"
	// CertificateExpired: one of the chain has expired.
	CertificateExpired Condition = "CertificateExpired"
	// TokenMissing: there is no token. This and the following replace those of the
	// certificate where the driver is Token.
	TokenMissing Condition = "TokenMissing"
	// TokenInvalid: it does not parse, or has no life.
	TokenInvalid Condition = "TokenInvalid"
	// TokenForOther: it is issued for another ServiceAccount.
	TokenForOther Condition = "TokenForOther"
	// TokenExpired: it has expired.
	TokenExpired Condition = "TokenExpired"
	// TokenExpiring: 20 % of its life or less are left, which OCM takes for invalid.
	TokenExpiring Condition = "TokenExpiring"
)

// The conditions of a valid bootstrap kubeconfig.
const (
	// BootstrapMissing: there is no Secret.
	BootstrapMissing Condition = "BootstrapMissing"
	// BootstrapInvalid: it has no kubeconfig, or one that the agent cannot use.
	BootstrapInvalid Condition = "BootstrapInvalid"
	// BootstrapExpired: its certificate or token has expired.
	BootstrapExpired Condition = "BootstrapExpired"
	// BootstrapRejected: the hub rejects it.
	BootstrapRejected Condition = "BootstrapRejected"
	// BootstrapNotAccepted: its hub has the cluster with hubAcceptsClient false. OCM
	// asks that with several hubs only.
	BootstrapNotAccepted Condition = "BootstrapNotAccepted"
)

// What OCM's check overlooks in a hub kubeconfig that it finds valid.
const (
	// ClientInvalid: the agent cannot make a client of it, and exits.
	ClientInvalid Condition = "ClientInvalid"
	// LoginMissing: its user has no credentials, so the hub rejects the agent.
	LoginMissing Condition = "LoginMissing"
	// KeyMismatch: the key is not that of the certificate, so the hub does not answer.
	KeyMismatch Condition = "KeyMismatch"
	// CertificateTooEarly: the hub rejects the certificate as not valid yet.
	CertificateTooEarly Condition = "CertificateTooEarly"
)

// Finding is a condition that an object does not meet.
type Finding struct {
	Condition Condition `json:"condition"`
	// Object is the object. For example, "secret NAMESPACE/hub-kubeconfig-secret".
	Object string `json:"object"`
	// Message is what the object has, and what it should have.
	Message string `json:"message"`
}

func (f Finding) String() string { return f.Object + " " + f.Message }

// SituationName is the stable name of a situation.
type SituationName string

// The situations. RunSpokeAgent numbers them:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/spokeagent.go
const (
	// NotJudged: the registration driver is one that this package does not judge.
	NotJudged SituationName = "NotJudged"
	// NoHubKubeconfig: the bootstrap kubeconfig is valid, and there is no valid hub kubeconfig.
	NoHubKubeconfig SituationName = "NoHubKubeconfig"
	// BothValid: the bootstrap kubeconfig and the hub kubeconfig are valid.
	BothValid SituationName = "BothValid"
	// OnlyHubValid: the bootstrap kubeconfig is invalid, and the hub kubeconfig is valid.
	OnlyHubValid SituationName = "OnlyHubValid"
	// NeitherValid: no bootstrap kubeconfig is valid, and no hub kubeconfig.
	NeitherValid SituationName = "NeitherValid"
)

// Situation is one of the documented situations.
type Situation struct {
	// Number is 1 to 4, or 0 for NotJudged.
	Number int           `json:"number"`
	Name   SituationName `json:"name"`
	// Detached reports whether the agent runs on a hosting cluster: OCM's Detached mode,
	// which is the Klusterlet's mode Hosted or SingletonHosted.
	Detached bool `json:"detached"`
	// SeveralHubs reports whether the agent has bootstrap kubeconfigs of several hubs.
	SeveralHubs bool `json:"severalHubs"`
}

// Action is the stable name of what OCM's agent does by itself at its next start.
type Action string

const (
	// Works: it uses the hub kubeconfig, and renews the certificate in time.
	Works Action = "Works"
	// Renews: it requests another certificate now, with the hub kubeconfig.
	Renews Action = "Renews"
	// Joins: it requests a certificate now, with a bootstrap kubeconfig.
	Joins Action = "Joins"
	// Moves: it leaves its hub, and joins another one.
	Moves Action = "Moves"
	// Retries: it requests a certificate with a bootstrap kubeconfig that the hub rejects.
	Retries Action = "Retries"
	// Waits: it waits for a valid hub kubeconfig without requesting one.
	Waits Action = "Waits"
	// PodWaits: its pod does not start before the bootstrap kubeconfigs exist.
	PodWaits Action = "PodWaits"
	// Stuck: it uses a hub kubeconfig that the hub does not accept.
	Stuck Action = "Stuck"
	// Exits: it ends with an error at each start.
	Exits Action = "Exits"
)

// Step is something for a person to do.
type Step struct {
	Text string `json:"text"`
	// Command does it, or is empty.
	Command string `json:"command,omitempty"`
}

// Verdict is what Judge finds.
type Verdict struct {
	Situation Situation `json:"situation"`
	// Valid reports whether OCM's check finds the hub kubeconfig valid. It is false
	// also where the check ends with an error. For example, with a bootstrap kubeconfig
	// that does not parse, even if Failed is empty.
	Valid bool `json:"valid"`
	// Failed are the conditions that the hub kubeconfig does not meet, in OCM's order.
	Failed []Finding `json:"failed,omitempty"`
	// Bootstraps are the conditions that bootstrap kubeconfigs do not meet.
	Bootstraps []Finding `json:"bootstraps,omitempty"`
	// Overlooked is what is wrong with a hub kubeconfig that OCM's check finds valid.
	Overlooked []Finding `json:"overlooked,omitempty"`
	// Chosen is the Secret of the bootstrap kubeconfig that the agent chooses at its next
	// start, or empty if it can choose none.
	Chosen string `json:"chosen,omitempty"`
	// Action is what the agent does by itself at its next start. It is empty for
	// NotJudged. WillDo describes it, with what a running agent does.
	Action Action `json:"action,omitempty"`
	WillDo string `json:"willDo,omitempty"`
	// Do is what a person has to do, in this order. It is empty if that is nothing.
	Do []Step `json:"do,omitempty"`
	// Page is the page of the documentation, with an anchor.
	Page string `json:"page"`
}
