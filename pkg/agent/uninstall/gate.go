package uninstall

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// AddOn is what the agent knows of its ManagedClusterAddOn, from a watch.
type AddOn struct {
	// Known says that the hub was asked and has answered.
	Known bool
	// UID is empty where there is no such add-on.
	UID types.UID
	// Deleting says that it has a deletionTimestamp.
	Deleting bool
	// Reported says that it has the condition ConfigMapsSynced.
	Reported bool
}

var (
	// ErrUninstalling says that the copies are being removed.
	ErrUninstalling = errors.New("the add-on is being uninstalled: nothing is copied any more")
	// ErrNotEnabled says that there is no ManagedClusterAddOn.
	ErrNotEnabled = errors.New("the add-on is not enabled: there is no ManagedClusterAddOn on the hub")
	// ErrNotKnown says that the hub has not answered yet.
	ErrNotKnown = errors.New("waiting for the hub to tell whether the add-on is enabled")
	// ErrNotReported says that the hub's users cannot know yet that there is an
	// agent.
	ErrNotReported = errors.New("waiting for the first report to the hub")
)

// Gate returns nil where the mirror may write, or one of the errors above. The
// marker is the UID on the uninstall marker, empty for none; stopped is the one
// for which Gate has returned ErrUninstalling before, empty for none: an
// uninstall is never taken back. A marker that is left from an add-on that was
// there before means nothing to the one of today.
//
// Nothing is written before the add-on has the condition ConfigMapsSynced. So
// where an add-on is deleted that never had it there is no copy, and the hub
// need not wait for a hook on a cluster where no agent could ever run. A watch
// shows changes in their order: who sees the condition on an add-on without a
// deletionTimestamp knows that it came first.
func Gate(addOn AddOn, marker, stopped types.UID) error {
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

// StoppedFor is the add-on's UID that Gate's next call is to be told of, given
// what this one returned.
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
