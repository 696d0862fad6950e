package credentials

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Status describes the credentials in use, and those in the source if they are
// rejected.
type Status struct {
	// Source names where credentials come from.
	Source string
	// Server is the URL of the hub that is connected to, or empty if no
	// credentials are in use.
	Server string
	// NotAfter is when the credentials in use, or last in use, expire. It is zero if
	// that is not known.
	NotAfter time.Time
	// Since is when they came into use.
	Since time.Time
	// Problem explains why the credentials in the source are rejected, or is nil.
	// The last good ones may be in use all the same.
	Problem *Error
}

// Connected reports whether credentials are in use.
func (s Status) Connected() bool { return s.Server != "" }

// Expired reports whether the credentials in use have expired.
func (s Status) Expired(now time.Time) bool {
	return !s.NotAfter.IsZero() && !now.Before(s.NotAfter)
}

// Ready returns nil if usable credentials are in use, or else an error that
// explains why not.
func (s Status) Ready(now time.Time) error {
	switch {
	case !s.Connected() && s.Problem != nil:
		return fmt.Errorf("%s: %w", s.Source, s.Problem)
	case !s.Connected():
		return errors.New(s.Source + ": not read yet")
	case s.Expired(now) && s.Problem != nil:
		return fmt.Errorf("the credentials in use expired at %s, and %s has no better ones: %w",
			stamp(s.NotAfter), s.Source, s.Problem)
	case s.Expired(now):
		return fmt.Errorf("the credentials in use expired at %s, and %s has no better ones", stamp(s.NotAfter), s.Source)
	default:
		return nil
	}
}

// StayInUse is a part of each Warning.
const StayInUse = "the last good credentials stay in use"

// Warning explains why the source is rejected while the last good credentials
// are in use. It is empty otherwise.
func (s Status) Warning() string {
	if s.Problem == nil || !s.Connected() {
		return ""
	}
	until := ""
	if !s.NotAfter.IsZero() {
		until = " until " + stamp(s.NotAfter)
	}
	return fmt.Sprintf("%s cannot be used, %s%s: %s", s.Source, StayInUse, until, s.Problem)
}

// Detail describes the credentials in use, and the Warning if there is one.
func (s Status) Detail() string {
	if !s.Connected() {
		return ""
	}
	detail := s.Server
	if !s.NotAfter.IsZero() {
		detail += " until " + stamp(s.NotAfter)
	}
	if warning := s.Warning(); warning != "" {
		detail += "; " + warning
	}
	return detail
}

// State summarizes credentials and connection in one Reason and one line.
type State struct {
	Reason  Reason
	Message string
	// Bad means that something has to be repaired.
	Bad bool
}

// OfHub reports whether the state is about the hub's answers and not about the
// credentials in the source.
func (s State) OfHub() bool {
	return s.Reason == HubConnected || s.Reason == HubUnreachable || s.Reason == HubRefusesCredentials || s.Reason == HubForbids
}

// StateOf returns the state. Answered means that the hub has answered since the
// connection was made. Trouble is the failure of the last request, or nil. The
// zero State means that it is too early to tell.
func StateOf(status Status, answered bool, trouble error, now time.Time) State {
	if err := status.Ready(now); err != nil {
		switch {
		case status.Problem != nil:
			return State{Reason: status.Problem.Reason, Message: err.Error(), Bad: true}
		case status.Connected():
			return State{Reason: CertificateExpired, Message: err.Error(), Bad: true}
		default:
			return State{}
		}
	}
	switch {
	case trouble != nil:
		return State{Reason: troubleReason(trouble), Message: OneLine(trouble), Bad: true}
	case status.Problem != nil:
		return State{Reason: status.Problem.Reason, Message: status.Warning(), Bad: true}
	case answered:
		return State{Reason: HubConnected, Message: "connected to " + status.Detail()}
	default:
		return State{}
	}
}

func troubleReason(err error) Reason {
	switch {
	case apierrors.IsUnauthorized(err):
		return HubRefusesCredentials
	case apierrors.IsForbidden(err):
		return HubForbids
	default:
		return HubUnreachable
	}
}

// Same reports whether one event covers both states. The message of
// HubUnreachable is not compared: it differs from one attempt to the next.
func (s State) Same(other State) bool {
	return s.Reason == other.Reason && (s.Message == other.Message || s.Reason == HubUnreachable)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
