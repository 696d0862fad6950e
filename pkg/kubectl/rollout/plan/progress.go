package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// State is whether a rollout ends.
type State string

const (
	// Waiting: the rollout continues, or the controller has not seen yet what it is about.
	Waiting State = "Waiting"
	// Done: every cluster has the revision.
	Done State = "Done"
	// Failed: it does not continue before a person does something.
	Failed State = "Failed"
)

// Progress is how far a rollout is.
type Progress struct {
	State State
	// Message is a line for a person.
	Message string
	// Warning is what needs a person though the rollout is done, or empty.
	Warning string
}

// ends are the reasons of RolledOut=False with which a rollout does not continue by itself. A pause is none:
// another person may end it.
var ends = []string{hubplan.ReasonStopped, hubplan.ReasonClustersFailed, hubplan.ReasonSourcesInvalid, hubplan.ReasonStrategyInvalid}

// maxGroups is how many groups of a Placement the status counts.
const maxGroups = 100

// Judge returns the progress by the status of a set. One that is not Waiting is final only after Confirm.
func Judge(set *v1alpha1.ConfigMapReplicaSet) Progress {
	condition := find(set, v1alpha1.ConditionRolledOut)
	switch {
	case set.DeletionTimestamp != nil:
		return waiting(set, "it is being deleted")
	case condition == nil || condition.ObservedGeneration < set.Generation:
		return waiting(set, fmt.Sprintf("the controller has not seen generation %d of its spec yet", set.Generation))
	case condition.Status == metav1.ConditionTrue:
		return Progress{State: Done, Message: fmt.Sprintf("%s successfully rolled out: %s", Named(set.Name), condition.Message), Warning: warning(set)}
	}
	if reason := failure(set, condition); reason != "" {
		why := condition.Message
		if degraded := degraded(set); degraded != nil {
			why = degraded.Message // it names the clusters
		}
		return Progress{State: Failed, Message: fmt.Sprintf("%s is not rolled out: %s: %s", Named(set.Name), reason, why)}
	}
	return waiting(set, strings.Join(append([]string{condition.Message}, details(set, condition)...), ", "))
}

// failure returns the reason for which a rollout does not continue by itself, or an empty string. While a Placement is
// not resolved, Degraded alone reports that the sources or a strategy are invalid.
func failure(set *v1alpha1.ConfigMapReplicaSet, rolledOut *metav1.Condition) string {
	if slices.Contains(ends, rolledOut.Reason) {
		return rolledOut.Reason
	}
	degraded := degraded(set)
	if rolledOut.Reason == hubplan.ReasonPlacementsNotResolved && degraded != nil && degraded.ObservedGeneration >= set.Generation &&
		(degraded.Reason == hubplan.ReasonSourcesInvalid || degraded.Reason == hubplan.ReasonStrategyInvalid) {
		return degraded.Reason
	}
	return ""
}

// warning returns what needs a person though the rollout is done, or an empty string. Every cluster with the add-on is
// synced then, so the other selected ones are without it.
func warning(set *v1alpha1.ConfigMapReplicaSet) string {
	var warnings []string
	switch total, synced := set.Status.Summary.Total, set.Status.Summary.Synced; {
	case total == 0:
		warnings = append(warnings, "no cluster has it: the Placements select none")
	case synced < total:
		warnings = append(warnings, fmt.Sprintf("%d of %d selected clusters do not have it: the add-on is not enabled there", total-synced, total))
	}
	if degraded := degraded(set); degraded != nil {
		warnings = append(warnings, degraded.Reason+": "+degraded.Message)
	}
	return strings.Join(warnings, "; ")
}

// Confirm returns Waiting instead of a progress about other sources than those of now: the controller has not
// seen their change yet. Any other progress is returned as it is.
func Confirm(progress Progress, set *v1alpha1.ConfigMapReplicaSet, present Present) Progress {
	condition := find(set, v1alpha1.ConditionRolledOut)
	if progress.State == Waiting || condition == nil {
		return progress
	}
	invalid := failure(set, condition) == hubplan.ReasonSourcesInvalid
	switch {
	case present.Problem != "" && !invalid:
		return waiting(set, "the controller has not seen yet that "+present.Problem)
	case present.Problem == "" && invalid:
		return waiting(set, "the controller has not seen yet that its sources are valid")
	case present.Problem == "" && present.Revision != set.Status.UpdatedRevision:
		return waiting(set, fmt.Sprintf("the controller has not seen revision %s of its sources yet", present.Revision))
	}
	return progress
}

func waiting(set *v1alpha1.ConfigMapReplicaSet, what string) Progress {
	return Progress{State: Waiting, Message: fmt.Sprintf("Waiting for rollout of %s: %s", Named(set.Name), what)}
}

// degraded returns the condition Degraded if it is True, or nil.
func degraded(set *v1alpha1.ConfigMapReplicaSet) *metav1.Condition {
	condition := find(set, v1alpha1.ConditionDegraded)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return nil
	}
	return condition
}

// find returns a condition, or nil. A message may hold what a managed cluster reports; so no character of it
// moves the cursor of a terminal.
func find(set *v1alpha1.ConfigMapReplicaSet, kind string) *metav1.Condition {
	condition := meta.FindStatusCondition(set.Status.Conditions, kind)
	if condition == nil {
		return nil
	}
	shown := *condition
	shown.Message = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, shown.Message)
	return &shown
}

// details returns what the condition's message does not state. The counts are of the updated revision, so
// there are none while another one is being stored.
func details(set *v1alpha1.ConfigMapReplicaSet, condition *metav1.Condition) (all []string) {
	updated := set.Status.UpdatedRevision
	if updated == "" || !strings.Contains(condition.Message, updated) {
		return nil
	}
	summary := set.Status.Summary
	all = append(all, fmt.Sprintf("%d updated", summary.Updated))
	if summary.Failed > 0 {
		all = append(all, fmt.Sprintf("%d failed", summary.Failed))
	}
	if summary.TimedOut > 0 {
		all = append(all, fmt.Sprintf("%d timed out", summary.TimedOut))
	}
	if begun, groups := groups(set); groups > 1 {
		all = append(all, fmt.Sprintf("%d of %d groups begun", begun, groups))
	}
	if set.Spec.Paused {
		all = append(all, "paused")
	}
	return all
}

// groups returns how many decision groups of all Placements there are, and in how many of them the rollout has
// begun. It returns zero if there may be more than the status counts.
func groups(set *v1alpha1.ConfigMapReplicaSet) (begun, groups int) {
	for _, placement := range set.Status.Placements {
		if len(placement.Groups) >= maxGroups {
			return 0, 0
		}
		for _, group := range placement.Groups {
			groups++
			if group.Summary.Updated+group.Summary.Failed+group.Summary.TimedOut > 0 {
				begun++
			}
		}
	}
	return begun, groups
}
