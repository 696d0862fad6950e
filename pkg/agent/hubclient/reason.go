package hubclient

import (
	"fmt"
	"strings"
)

// Reason says in one stable word what is wrong with credentials. There is one
// for each thing that has to be right; docs/hub-credentials.md says what to do
// about each.
type Reason string

const (
	// SecretMissing: there is no secret (yet).
	SecretMissing Reason = "SecretMissing"
	// SourceUnreadable: whether there are credentials cannot be found out.
	SourceUnreadable Reason = "SourceUnreadable"
	// KubeconfigMissing: there is no kubeconfig.
	KubeconfigMissing Reason = "KubeconfigMissing"
	// KubeconfigInvalid: the kubeconfig does not parse, or is incomplete.
	KubeconfigInvalid Reason = "KubeconfigInvalid"
	// ServerInvalid: the server's URL cannot be used.
	ServerInvalid Reason = "ServerInvalid"
	// ProxyInvalid: the proxy's URL cannot be used.
	ProxyInvalid Reason = "ProxyInvalid"
	// CAMissing: the file with the CA bundle is not there.
	CAMissing Reason = "CAMissing"
	// CAInvalid: the CA bundle holds no certificate.
	CAInvalid Reason = "CAInvalid"
	// CredentialsMissing: the kubeconfig's user has nothing to log in with.
	CredentialsMissing Reason = "CredentialsMissing"
	// CredentialsUnsupported: the kubeconfig's user logs in by what the
	// agent does not know.
	CredentialsUnsupported Reason = "CredentialsUnsupported"
	// KeyMissing: there is no private key.
	KeyMissing Reason = "KeyMissing"
	// KeyInvalid: the private key does not parse.
	KeyInvalid Reason = "KeyInvalid"
	// CertificateMissing: there is no client certificate.
	CertificateMissing Reason = "CertificateMissing"
	// CertificateInvalid: the client certificate does not parse.
	CertificateInvalid Reason = "CertificateInvalid"
	// KeyMismatch: certificate and key do not belong together.
	KeyMismatch Reason = "KeyMismatch"
	// CertificateForOther: it is issued for another cluster or add-on.
	CertificateForOther Reason = "CertificateForOther"
	// CertificateExpired: its time is over.
	CertificateExpired Reason = "CertificateExpired"
	// CertificateTooEarly: its time has not come, by the agent's clock.
	CertificateTooEarly Reason = "CertificateTooEarly"
	// TokenMissing: the file with the token is not there, or is empty.
	TokenMissing Reason = "TokenMissing"
	// TokenForOther: it is issued for another cluster or add-on.
	TokenForOther Reason = "TokenForOther"
	// TokenExpired: its time is over.
	TokenExpired Reason = "TokenExpired"
	// TokenTooEarly: its time has not come, by the agent's clock.
	TokenTooEarly Reason = "TokenTooEarly"
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

func bad(reason Reason, format string, args ...any) *BadCredentials {
	return &BadCredentials{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// oneLine is an error's message without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
