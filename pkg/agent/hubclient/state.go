package hubclient

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// States of an agent beyond the reasons for which credentials are not used.
const (
	// HubConnected: the hub answers.
	HubConnected Reason = "HubConnected"
	// HubUnreachable: the hub does not answer.
	HubUnreachable Reason = "HubUnreachable"
	// HubRefusesCredentials: the hub does not know who asks.
	HubRefusesCredentials Reason = "HubRefusesCredentials"
	// HubForbids: the hub knows who asks, and does not allow it.
	HubForbids Reason = "HubForbids"
)

// State is how an agent stands with its hub, in one word and one line.
type State struct {
	Reason  Reason
	Message string
	// Bad says that something has to become better.
	Bad bool
}

// OfHub says that it is the hub that makes the state, not the credentials.
func (s State) OfHub() bool {
	return s.Reason == HubConnected || s.Reason == HubUnreachable || s.Reason == HubRefusesCredentials || s.Reason == HubForbids
}

// StateOf works out the state. answered says that the hub has answered since
// the connection was made, and trouble why it does not now, or nil. The zero
// State means that nothing can be said yet.
func StateOf(status Status, answered bool, trouble error, now time.Time) State {
	if err := status.Ready(now); err != nil {
		state := State{Reason: CertificateExpired, Message: err.Error(), Bad: true}
		if status.Problem == nil {
			if !status.Connected() {
				return State{}
			}
			return state
		}
		state.Reason = status.Problem.Reason
		return state
	}
	switch {
	case trouble != nil:
		return State{Reason: troubleReason(trouble), Message: oneLine(trouble), Bad: true}
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

// Same says whether two states are worth one event. Why a hub cannot be reached
// is said in other words from one try to the next.
func (s State) Same(other State) bool {
	return s.Reason == other.Reason && (s.Message == other.Message || s.Reason == HubUnreachable)
}
