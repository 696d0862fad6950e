package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Reasons of the condition ConfigMapsSynced.
const (
	// ReasonSynced, with status True: every ConfigMap has its copy.
	ReasonSynced = "Synced"
	// ReasonSameNamespace, with status True: the copies would be the sources.
	ReasonSameNamespace = "SameNamespace"
	// ReasonSyncing, with status False: some are about to be written.
	ReasonSyncing = "Syncing"
	// ReasonConflict, with status False: somebody else's ConfigMaps are in the
	// way.
	ReasonConflict = "Conflict"
	// ReasonFailed, with status False: an API server refuses to be read or
	// written.
	ReasonFailed = "Failed"
	// ReasonHeld, with status False: many copies have lost their sources at once,
	// and their deletion is held.
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

// The message is bounded: it is for people, and the API server keeps it with
// the object. 10 names are what one reads; metrics and events have the rest.
const (
	maxNames   = 10
	maxMessage = 1024
)

// State is what there is to report.
type State struct {
	// Uninstalling says that the add-on is being deleted.
	Uninstalling bool
	// Trouble says why one of the two sides cannot be read; empty: both can.
	Trouble string
	// Listed says that both sides were listed.
	Listed bool
	// SameNamespace says that the two sides are one namespace.
	SameNamespace bool
	// Wanted ConfigMaps have to be copied, Synced of them are.
	Wanted, Synced int
	// Conflicts and Failed are names. FailedReason explains the first failure.
	Conflicts, Failed []string
	FailedReason      string
	// Contested are names; ContestedReason explains the first one.
	Contested       []string
	ContestedReason string
	// Held are the copies whose deletion is held until HeldUntil, on Cluster.
	Held      []string
	HeldUntil time.Time
	Cluster   string
	// Warning is something else that needs a person; empty: nothing does.
	Warning string
}

// Condition is the condition for a state, without the time.
func Condition(state State) metav1.Condition {
	c := conditionOf(state)
	if state.Warning != "" && !state.Uninstalling {
		c.Message = shorten(c.Message+"; "+state.Warning, maxMessage)
	}
	return c
}

func conditionOf(state State) metav1.Condition {
	switch {
	case state.Uninstalling:
		return UninstallCondition(
			"the add-on is being deleted: nothing is copied any more, and its pre-delete hook removes the copies")
	case state.Trouble != "":
		return condition(metav1.ConditionFalse, ReasonFailed, state.Trouble)
	case !state.Listed:
		return condition(metav1.ConditionUnknown, ReasonWaiting, "the ConfigMaps are not listed yet")
	case state.SameNamespace:
		return condition(metav1.ConditionTrue, ReasonSameNamespace,
			"the cluster's namespace on the hub is the install namespace: nothing is copied")
	case len(state.Held) > 0:
		// First: it is the only one with an end that must not be missed.
		return condition(metav1.ConditionFalse, ReasonHeld, counts(state))
	case len(state.Failed) > 0:
		return condition(metav1.ConditionFalse, ReasonFailed, counts(state))
	case len(state.Conflicts) > 0:
		return condition(metav1.ConditionFalse, ReasonConflict, counts(state))
	case len(state.Contested) > 0:
		return condition(metav1.ConditionFalse, ReasonContested, counts(state))
	case state.Synced < state.Wanted:
		return condition(metav1.ConditionFalse, ReasonSyncing, counts(state))
	default:
		return condition(metav1.ConditionTrue, ReasonSynced, counts(state))
	}
}

// UninstallCondition is the condition while the copies are removed.
func UninstallCondition(message string) metav1.Condition {
	return condition(metav1.ConditionFalse, ReasonUninstalling, message)
}

// UninstalledCondition is the condition when the pre-delete hook has removed every
// copy.
func UninstalledCondition() metav1.Condition {
	return condition(metav1.ConditionFalse, ReasonUninstalled, "every copy is removed")
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: manifests.ConditionConfigMapsSynced, Status: status, Reason: reason,
		Message: shorten(message, maxMessage)}
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

// Names lists names, sorted, and counts those that are too many to list.
func Names(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	if len(sorted) <= maxNames {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:maxNames], ", "), len(sorted)-maxNames)
}

// shorten cuts a message off between two characters.
func shorten(message string, limit int) string {
	const more = " …"
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len(more)], "") + more
}

// Difference is how a condition that is wanted differs from the one that is
// there.
type Difference int

const (
	// Same: nothing has to be written.
	Same Difference = iota
	// OtherMessage: status and reason are right.
	OtherMessage
	// Other status or reason, or there is no condition.
	Other
)

// Compare compares the condition on the hub, nil for none, with the one that is
// wanted. While the add-on is uninstalled the message belongs to the pre-delete
// hook, which knows more, and so does the end of the uninstall.
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
