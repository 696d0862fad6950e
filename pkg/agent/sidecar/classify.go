package sidecar

import (
	"crypto/tls"
	"errors"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Classify says what a failed request for the lease means, which went to an API
// server named by where. What to do about it is in the message.
func Classify(err error, where string) *Cause {
	message := oneLine(err.Error())
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
		return &Cause{LeaseFailed, where + " refuses the lease: " + message}
	case errors.As(err, &certificate):
		return &Cause{ServerUntrusted, where + " has a certificate that the kubeconfig's certificate-authority does not vouch for: " + message}
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
