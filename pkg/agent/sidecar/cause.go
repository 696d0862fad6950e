package sidecar

// Reason says in one stable word why the lease is not renewed. It is the reason
// of the Event on the pod.
type Reason string

const (
	// Starting: the delay after the start is not over.
	Starting Reason = "Starting"

	// SecretMissing and the ones that follow are about the hub's credentials.
	SecretMissing       Reason = "SecretMissing"
	KubeconfigMissing   Reason = "KubeconfigMissing"
	KubeconfigInvalid   Reason = "KubeconfigInvalid"
	CredentialsMissing  Reason = "CredentialsMissing"
	CertificateInvalid  Reason = "CertificateInvalid"
	CertificateExpired  Reason = "CertificateExpired"
	CertificateTooEarly Reason = "CertificateTooEarly"

	// PodMissing and the ones that follow are about the pod.
	PodMissing        Reason = "PodMissing"
	PodEnding         Reason = "PodEnding"
	ContainerNotReady Reason = "ContainerNotReady"
	PodNotReady       Reason = "PodNotReady"

	// ClusterUnreadable: the pod or the secret cannot be read.
	ClusterUnreadable Reason = "ClusterUnreadable"

	// LeaseForbidden and the ones that follow are about writing the lease.
	LeaseForbidden        Reason = "LeaseForbidden"
	LeaseUnauthorized     Reason = "LeaseUnauthorized"
	LeaseNamespaceMissing Reason = "LeaseNamespaceMissing"
	ServerUnreachable     Reason = "ServerUnreachable"
	ServerUntrusted       Reason = "ServerUntrusted"
	LeaseFailed           Reason = "LeaseFailed"
)

// Cause is why the lease is not renewed.
type Cause struct {
	Reason Reason
	// Message says more, for a person: one line, the same as long as the cause is.
	Message string
}

func (c *Cause) Error() string {
	return string(c.Reason) + ": " + c.Message
}
