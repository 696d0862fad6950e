// Package gate decides whether the agent may write copies: the agent's half of the
// uninstall protocol (docs/design.md#uninstall). It is pure.
package gate

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// AddOn is what the agent's watch has shown of its ManagedClusterAddOn.
type AddOn struct {
	// Known reports whether the hub has answered.
	Known bool
	// UID is empty if there is no such add-on.
	UID types.UID
	// Deleting reports whether it has a deletionTimestamp.
	Deleting bool
	// Reported reports whether it has the condition ConfigMapsSynced.
	Reported bool
}

var (
	// ErrUninstalling means that the copies are being removed.
	ErrUninstalling = errors.New("the add-on is being uninstalled: nothing is copied any more")
	// ErrNotEnabled means that there is no ManagedClusterAddOn.
	ErrNotEnabled = errors.New("the add-on is not enabled: there is no ManagedClusterAddOn on the hub")
	// ErrNotKnown means that the hub has not answered yet.
	ErrNotKnown = errors.New("waiting for the hub to tell whether the add-on is enabled")
	// ErrNotReported means that the hub does not show yet that there is an agent.
	ErrNotReported = errors.New("waiting for the first report to the hub")
)

// Check returns nil if the mirror may write, otherwise one of the errors above.
//
// Marker is the UID on the uninstall marker, empty if there is none. Stopped is the
// UID for which Check has returned ErrUninstalling before, empty if it has not: an
// uninstall is never taken back. A marker of an earlier add-on has another UID and
// does not count.
//
// Nothing is written before the add-on has the condition ConfigMapsSynced. So an
// add-on that is deleted without the condition has no copies, and the hub need not
// wait for the hook on a cluster where no agent could ever run. A watch delivers
// changes in their order: an agent that sees the condition without a
// deletionTimestamp knows that the condition came first.
func Check(addOn AddOn, marker, stopped types.UID) error {
	switch {
	case !addOn.Known && marker == "" && stopped == "":
		return ErrNotKnown
	case !addOn.Known:
		return ErrUninstalling
	case addOn.UID == "" && marker == "" && stopped == "":
		return ErrNotEnabled
	case addOn.UID == "", addOn.Deleting, addOn.UID == marker, addOn.UID == stopped:
		return ErrUninstalling
	case !addOn.Reported:
		return ErrNotReported
	default:
		return nil
	}
}

// StoppedFor returns the value to pass as stopped to the next call of Check. Err is
// what Check has returned for the same arguments.
func StoppedFor(addOn AddOn, marker, stopped types.UID, err error) types.UID {
	switch {
	case !errors.Is(err, ErrUninstalling):
		return stopped
	case addOn.UID != "":
		return addOn.UID
	case marker != "":
		return marker
	default:
		return stopped
	}
}
