// Package verdict decides whether the sidecar may renew the lease, and names the
// cause if not. It is pure: the status of a pod, the state of the credentials, the
// error of a request and the time go in, a *Cause comes out, nil if all is well.
package verdict

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// Reason is the stable name of a Cause. It is the reason of the Event on the pod.
type Reason string

const (
	// Starting means that the startup delay has not passed, or that something has
	// not been read yet. No Event reports it.
	Starting Reason = "Starting"

	// Reasons about the credentials for the hub.
	SecretMissing       Reason = "SecretMissing"
	KubeconfigMissing   Reason = "KubeconfigMissing"
	KubeconfigInvalid   Reason = "KubeconfigInvalid"
	CredentialsMissing  Reason = "CredentialsMissing"
	CertificateInvalid  Reason = "CertificateInvalid"
	CertificateExpired  Reason = "CertificateExpired"
	CertificateTooEarly Reason = "CertificateTooEarly"

	// Reasons about the pod.
	PodMissing        Reason = "PodMissing"
	PodEnding         Reason = "PodEnding"
	ContainerNotReady Reason = "ContainerNotReady"
	PodNotReady       Reason = "PodNotReady"

	// ClusterUnreadable means that the pod or the Secret cannot be read.
	ClusterUnreadable Reason = "ClusterUnreadable"

	// Reasons about the write of the lease.
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
	// Message is one line for a person. It does not change while the cause lasts.
	Message string
}

func (c *Cause) Error() string {
	return string(c.Reason) + ": " + c.Message
}

// Situation is everything that Judge needs.
type Situation struct {
	// Started is the start of the program, Delay the time after it without a
	// lease.
	Started time.Time
	Delay   time.Duration
	// Unread means that the pod or the Secret was never read. Unreadable is why
	// reading fails, since UnreadableSince, or nil.
	Unread          bool
	Unreadable      error
	UnreadableSince time.Time
	// Patience is how long the last content counts while reading fails.
	Patience time.Duration
	// Pod and Credentials are the causes that these two have, or nil.
	Pod, Credentials *Cause
}

// Judge returns why the lease must not be renewed at the time now, or nil. The
// credentials come before the pod, because an add-on's pod may not be Ready without
// them.
func Judge(s Situation, now time.Time) *Cause {
	switch {
	case now.Sub(s.Started) < s.Delay:
		return &Cause{Starting, "no lease is written for the first " + s.Delay.String()}
	case s.Unreadable != nil && (s.Unread || now.Sub(s.UnreadableSince) > s.Patience):
		return &Cause{ClusterUnreadable, credentials.OneLine(s.Unreadable)}
	case s.Unread:
		return &Cause{Starting, "the pod and the secret are not read yet"}
	case s.Credentials != nil:
		return s.Credentials
	default:
		return s.Pod
	}
}

// OfCredentials returns why the credentials cannot be used at the time now, or nil.
func OfCredentials(status credentials.Status, now time.Time) *Cause {
	switch {
	case status.Problem != nil:
		return &Cause{reasonOf(status.Problem.Reason), status.Source + ": " + status.Problem.Message}
	case !status.Connected():
		return &Cause{Starting, status.Source + ": not read yet"}
	case status.Expired(now):
		return &Cause{CertificateExpired, status.Source + ": the client certificate expired at " + status.NotAfter.UTC().Format(time.RFC3339)}
	default:
		return nil
	}
}

// reasonOf returns the sidecar's reason for one of package credentials. The sidecar
// has fewer: its users are authors of add-ons, who look at the message anyway.
func reasonOf(reason credentials.Reason) Reason {
	switch reason {
	case credentials.SecretMissing, credentials.KubeconfigMissing, credentials.CertificateExpired, credentials.CertificateTooEarly:
		return Reason(reason)
	case credentials.SourceUnreadable:
		return ClusterUnreadable
	case credentials.KubeconfigInvalid, credentials.ServerInvalid, credentials.ProxyInvalid, credentials.CAInvalid:
		return KubeconfigInvalid
	case credentials.CertificateInvalid, credentials.KeyInvalid, credentials.KeyMismatch:
		return CertificateInvalid
	default:
		// The kubeconfig has no login, or names a file that the Secret lacks.
		return CredentialsMissing
	}
}

// OfRequest returns what a failed request for the lease means. Where names the API
// server. The message contains what to do.
func OfRequest(err error, where string) *Cause {
	message := credentials.OneLine(err)
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return &Cause{LeaseUnauthorized, where + " does not accept the credentials: " + message}
	case apierrors.IsForbidden(err):
		return &Cause{LeaseForbidden, "the right to get, create and update this lease on " + where + " is missing: " + message}
	case apierrors.IsNotFound(err):
		return &Cause{LeaseNamespaceMissing, "the lease's namespace does not exist on " + where + ": " + message}
	case isStatus(err):
		return &Cause{LeaseFailed, where + " rejects the lease: " + message}
	case errors.As(err, &certificate):
		return &Cause{ServerUntrusted, where + " has a certificate that the kubeconfig's certificate-authority did not issue: " + message}
	case errors.As(err, &network), utilnet.IsProbableEOF(err), utilnet.IsHTTP2ConnectionLost(err):
		return &Cause{ServerUnreachable, where + " cannot be reached: " + message}
	default:
		return &Cause{LeaseFailed, message}
	}
}

func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
