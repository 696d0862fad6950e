package credentials

import (
	"fmt"
	"strings"
	"time"
)

// Reason is the stable name of a state. Each cause that makes credentials
// unusable has its own; docs/hub-credentials.md documents what to do about it.
type Reason string

const (
	// SecretMissing means that the Secret does not exist, or not yet.
	SecretMissing Reason = "SecretMissing"
	// SourceUnreadable means that the Secret or the file cannot be read.
	SourceUnreadable Reason = "SourceUnreadable"
	// KubeconfigMissing means that there is no kubeconfig.
	KubeconfigMissing Reason = "KubeconfigMissing"
	// KubeconfigInvalid means that the kubeconfig does not parse or is incomplete.
	KubeconfigInvalid Reason = "KubeconfigInvalid"
	// ServerInvalid means that the server's URL cannot be used.
	ServerInvalid Reason = "ServerInvalid"
	// ProxyInvalid means that the proxy's URL cannot be used.
	ProxyInvalid Reason = "ProxyInvalid"
	// CAMissing means that the file with the CA bundle does not exist.
	CAMissing Reason = "CAMissing"
	// CAInvalid means that the CA bundle contains no certificate.
	CAInvalid Reason = "CAInvalid"
	// CredentialsMissing means that the kubeconfig's user has no login.
	CredentialsMissing Reason = "CredentialsMissing"
	// CredentialsUnsupported means that the kubeconfig's user logs in by a method
	// that is not supported, for example a password.
	CredentialsUnsupported Reason = "CredentialsUnsupported"
	// KeyMissing means that there is no private key.
	KeyMissing Reason = "KeyMissing"
	// KeyInvalid means that the private key does not parse.
	KeyInvalid Reason = "KeyInvalid"
	// CertificateMissing means that there is no client certificate.
	CertificateMissing Reason = "CertificateMissing"
	// CertificateInvalid means that the client certificate does not parse.
	CertificateInvalid Reason = "CertificateInvalid"
	// KeyMismatch means that the private key is not that of the certificate.
	KeyMismatch Reason = "KeyMismatch"
	// CertificateForOther means that the certificate was issued for another
	// cluster or add-on.
	CertificateForOther Reason = "CertificateForOther"
	// CertificateExpired means that the certificate has expired.
	CertificateExpired Reason = "CertificateExpired"
	// CertificateTooEarly means that the certificate is not valid yet, by the
	// local clock.
	CertificateTooEarly Reason = "CertificateTooEarly"
	// TokenMissing means that the file with the token does not exist or is empty.
	TokenMissing Reason = "TokenMissing"
	// TokenForOther means that the token was issued for another cluster or add-on.
	TokenForOther Reason = "TokenForOther"
	// TokenExpired means that the token has expired.
	TokenExpired Reason = "TokenExpired"
	// TokenTooEarly means that the token is not valid yet, by the local clock.
	TokenTooEarly Reason = "TokenTooEarly"
)

// States of a client whose credentials are usable.
const (
	// HubConnected means that the hub answers.
	HubConnected Reason = "HubConnected"
	// HubUnreachable means that the hub does not answer.
	HubUnreachable Reason = "HubUnreachable"
	// HubRefusesCredentials means that the hub answers 401 Unauthorized.
	HubRefusesCredentials Reason = "HubRefusesCredentials"
	// HubForbids means that the hub answers 403 Forbidden.
	HubForbids Reason = "HubForbids"
)

// Error explains why credentials cannot be used.
type Error struct {
	Reason Reason
	// Message is one line for a person.
	Message string
	// NotAfter is when the certificate expired, with CertificateExpired.
	NotAfter time.Time
}

func (e *Error) Error() string {
	return string(e.Reason) + ": " + e.Message
}

// Errorf returns an Error with a formatted message.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// OneLine returns the message of err without line breaks.
func OneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
