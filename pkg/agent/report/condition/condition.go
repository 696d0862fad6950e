// Package condition computes the condition ConfigMapsSynced of a ManagedClusterAddOn
// from the state of the mirror (docs/design.md#rule-9-reported). It is pure: package
// report writes the condition.
package condition

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Reasons of the condition ConfigMapsSynced.
const (
	// ReasonSynced, with status True: every ConfigMap has its copy.
	ReasonSynced = "Synced"
	// ReasonSyncing, with status False: some copies are about to be written.
	ReasonSyncing = "Syncing"
	// ReasonConflict, with status False: ConfigMaps of other owners have the names of
	// copies.
	ReasonConflict = "Conflict"
	// ReasonFailed, with status False: an API server rejects reads or writes.
	ReasonFailed = "Failed"
	// ReasonHeld, with status False: a list lacks the sources of many copies, and
	// their deletion is held.
	ReasonHeld = "DeletionHeld"
	// ReasonContested, with status False: another writer keeps changing copies.
	ReasonContested = "Contested"
	// ReasonUninstalling, with status False: the copies are being removed.
	ReasonUninstalling = "Uninstalling"
	// ReasonUninstalled, with status False: every copy is removed.
	ReasonUninstalled = "Uninstalled"
	// ReasonWaiting, with status Unknown: not everything is listed yet.
	ReasonWaiting = "Waiting"
)

// The message is for people and is stored with the object, so it is bounded. Metrics
// and events have the rest.
const (
	maxNames = 10
	// MaxMessage is the longest message in bytes.
	MaxMessage = 1024
)

// State is the state of the mirror.
type State struct {
	// Uninstalling reports whether the add-on is being deleted.
	Uninstalling bool
	// Trouble is the reason why the hub or the managed cluster cannot be read. It is
	// empty if both can.
	Trouble string
	// Listed reports whether both sides were listed.
	Listed bool
	// Wanted is the number of ConfigMaps to copy, Synced the number of those that
	// have their copy.
	Wanted, Synced int
	// Conflicts and Failed are names. FailedReason explains the first failure.
	Conflicts, Failed []string
	FailedReason      string
	// Contested are names; ContestedReason explains the first one.
	Contested       []string
	ContestedReason string
	// Held are the copies whose deletion is held until HeldUntil. Cluster is the
	// managed cluster's name.
	Held      []string
	HeldUntil time.Time
	Cluster   string
	// Warning is another problem that needs a person; it may be empty.
	Warning string
}

// Of returns the condition for a state, without its time:
//
//	state                         status    reason
//	the add-on is being deleted   False     Uninstalling
//	a side cannot be read         False     Failed
//	a side is not listed yet      Unknown   Waiting
//	deletions are held            False     DeletionHeld
//	a copy failed                 False     Failed
//	another owner has the name    False     Conflict
//	another writer interferes     False     Contested
//	copies are missing            False     Syncing
//	otherwise                     True      Synced
//
// The first row that applies is the reason. The message has all of them.
func Of(state State) metav1.Condition {
	c := of(state)
	if state.Warning != "" && !state.Uninstalling {
		c.Message = Shorten(c.Message + "; " + state.Warning)
	}
	return c
}

// Stopped is the message of an agent that has stopped for an uninstall. What the pre-delete hook reports follows it.
const Stopped = "the add-on is being deleted: nothing is copied any more, and its pre-delete hook removes the copies"

func of(state State) metav1.Condition {
	switch {
	case state.Uninstalling:
		return Uninstalling(Stopped)
	case state.Trouble != "":
		return newCondition(metav1.ConditionFalse, ReasonFailed, state.Trouble)
	case !state.Listed:
		return newCondition(metav1.ConditionUnknown, ReasonWaiting, "the ConfigMaps are not listed yet")
	case len(state.Held) > 0:
		// Before the failures: it is the only state with a deadline.
		return newCondition(metav1.ConditionFalse, ReasonHeld, counts(state))
	case len(state.Failed) > 0:
		return newCondition(metav1.ConditionFalse, ReasonFailed, counts(state))
	case len(state.Conflicts) > 0:
		return newCondition(metav1.ConditionFalse, ReasonConflict, counts(state))
	case len(state.Contested) > 0:
		return newCondition(metav1.ConditionFalse, ReasonContested, counts(state))
	case state.Synced < state.Wanted:
		return newCondition(metav1.ConditionFalse, ReasonSyncing, counts(state))
	default:
		return newCondition(metav1.ConditionTrue, ReasonSynced, counts(state))
	}
}

// Uninstalling returns the condition while the copies are being removed.
func Uninstalling(message string) metav1.Condition {
	return newCondition(metav1.ConditionFalse, ReasonUninstalling, message)
}

// Uninstalled returns the condition after the pre-delete hook has removed every copy.
func Uninstalled() metav1.Condition {
	return newCondition(metav1.ConditionFalse, ReasonUninstalled, "every copy is removed")
}

func newCondition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: manifests.ConditionConfigMapsSynced, Status: status, Reason: reason, Message: Shorten(message)}
}

func counts(state State) string {
	message := fmt.Sprintf("%d of %d ConfigMaps synced", state.Synced, state.Wanted)
	if len(state.Held) > 0 {
		message += fmt.Sprintf("; deletion of %d copies held until %s, because a list of the hub's ConfigMaps lacks their sources "+
			"(to delete them now: kubectl annotate managedclusteraddon %s -n %s %s=%s): %s", len(state.Held),
			state.HeldUntil.UTC().Format(time.RFC3339), manifests.AddonName, state.Cluster,
			manifests.ReleaseAnnotation, manifests.ReleaseTrue, Names(state.Held))
	}
	if len(state.Conflicts) > 0 {
		message += "; conflict: " + Names(state.Conflicts)
	}
	if len(state.Failed) > 0 {
		message += "; failed: " + Names(state.Failed) + ": " + state.FailedReason
	}
	if len(state.Contested) > 0 {
		message += "; contested: " + Names(state.Contested) + ": " + state.ContestedReason
	}
	return message
}

// Names returns up to 10 names, sorted, and the number of the others. For example,
// "a, b, c", or ten names "and 4990 more".
func Names(names []string) string {
	return text.List(slices.Sorted(slices.Values(names)), maxNames)
}

// Shorten cuts a message to MaxMessage.
func Shorten(message string) string { return text.Shorten(message, MaxMessage) }

// Difference is the difference between the condition on the hub and the desired one.
type Difference int

const (
	// Same: nothing has to be written.
	Same Difference = iota
	// OtherMessage: status and reason are equal.
	OtherMessage
	// Other: the status or the reason differs, or there is no condition.
	Other
)

// Compare compares the condition on the hub, nil if there is none, with the desired
// one. During the uninstall the pre-delete hook writes the message and the end, which
// the agent must not overwrite (docs/design.md#rule-6-uninstall).
func Compare(present *metav1.Condition, wanted metav1.Condition) Difference {
	switch {
	case present != nil && present.Reason == ReasonUninstalled && wanted.Reason == ReasonUninstalling:
		return Same
	case present == nil || present.Status != wanted.Status || present.Reason != wanted.Reason:
		return Other
	case present.Message == wanted.Message || wanted.Reason == ReasonUninstalling:
		return Same
	default:
		return OtherMessage
	}
}
