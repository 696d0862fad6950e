package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Reasons of the conditions. Where several apply, a condition has the first.
const (
	// ReasonResolved, PlacementsResolved=True: every Placement exists and its decisions are known.
	ReasonResolved = "Resolved"
	// ReasonPlacementNotReadable, PlacementsResolved=False: nothing is known of a Placement, so nothing is
	// removed.
	ReasonPlacementNotReadable = "PlacementNotReadable"
	// ReasonPlacementNotFound, PlacementsResolved=False: a Placement does not exist.
	ReasonPlacementNotFound = "PlacementNotFound"

	// ReasonPlacementsNotResolved, RolledOut=Unknown: which clusters are selected is not known.
	ReasonPlacementsNotResolved = "PlacementsNotResolved"
	// ReasonRolledOut, RolledOut=True: every cluster reports the updated revision as synced.
	ReasonRolledOut = "RolledOut"
	// ReasonPaused, RolledOut=False: spec.paused holds the rollout.
	ReasonPaused = "Paused"
	// ReasonProgressing, RolledOut=False: the rollout continues.
	ReasonProgressing = "Progressing"

	// ReasonSourcesInvalid, RolledOut=False and Degraded=True: the sources make no revision, for example
	// because a ConfigMap does not exist. The last revision stays the updated one.
	ReasonSourcesInvalid = "SourcesInvalid"
	// ReasonStrategyInvalid, RolledOut=False and Degraded=True: a rolloutStrategy is invalid.
	ReasonStrategyInvalid = "StrategyInvalid"
	// ReasonStopped, RolledOut=False and Degraded=True: more clusters failed than maxFailures.
	ReasonStopped = "Stopped"
	// ReasonClustersFailed, RolledOut=False and Degraded=True: every cluster had its turn, and some failed.
	ReasonClustersFailed = "ClustersFailed"

	// ReasonRemovalsHeld, Degraded=True: removals wait, or are released by an annotation.
	ReasonRemovalsHeld = "RemovalsHeld"
	// ReasonRemovalsRefused, Degraded=True: the API server refuses removals.
	ReasonRemovalsRefused = "RemovalsRefused"
	// ReasonAsExpected, Degraded=False.
	ReasonAsExpected = "AsExpected"
)

// maxMessage bounds a condition's message in bytes, maxNames the names in a list, maxGroups the groups
// in the status.
const (
	maxMessage = 1024
	maxNames   = 5
	maxGroups  = 100
)

// counts are what the conditions are about.
type counts struct {
	// enabled are the clusters with the add-on, given those of them that have the updated revision or
	// cannot get it.
	enabled, synced, updated, given int
	failed, timedOut, without       []string
}

// status sets the status.
func (p *planner) status() {
	status := &p.result.Status
	status.ObservedGeneration = p.Set.Generation
	status.UpdatedRevision = p.updated
	status.HeldRemovals = p.held
	status.Placements, status.Summary = nil, v1alpha1.Summary{}
	var c counts
	for _, r := range p.rollouts {
		placement := v1alpha1.PlacementStatus{Name: r.name}
		for _, group := range r.groups {
			summary := v1alpha1.Summary{}
			for _, cluster := range group.Clusters {
				c.add(r.members[cluster], &summary)
			}
			add(&placement.Summary, summary)
			if len(placement.Groups) < maxGroups {
				placement.Groups = append(placement.Groups, v1alpha1.GroupStatus{Index: group.Index, Name: group.Name, Summary: summary})
			}
		}
		if i := slices.IndexFunc(p.Set.Status.Placements, func(s v1alpha1.PlacementStatus) bool { return s.Name == r.name }); !r.readable && i >= 0 {
			// What was last known.
			placement = *p.Set.Status.Placements[i].DeepCopy()
		}
		add(&status.Summary, placement.Summary)
		status.Placements = append(status.Placements, placement)
	}
	status.CurrentRevision = p.current
	if len(p.stopped) == 0 && !p.unreadable && c.updated > 0 && c.given == c.enabled {
		status.CurrentRevision = p.updated
	}
	resolved := finding{ReasonResolved, "every Placement is known"}
	if len(p.unresolved) > 0 {
		resolved = finding{ReasonPlacementNotFound, strings.Join(p.unresolved, "; ")}
		if p.unreadable {
			resolved.reason = ReasonPlacementNotReadable
		}
	}
	p.condition(v1alpha1.ConditionPlacementsResolved, truth(len(p.unresolved) == 0), resolved)
	rolledOut, why := p.rolledOut(c)
	p.condition(v1alpha1.ConditionRolledOut, rolledOut, why)
	p.degraded(c)
}

// add counts a cluster.
func (c *counts) add(m *member, summary *v1alpha1.Summary) {
	summary.Total++
	if !m.enabled {
		c.without = append(c.without, m.cluster)
		return
	}
	c.enabled++
	if m.updated {
		c.updated++
		summary.Updated++
	}
	if m.updated || m.failure != "" {
		c.given++
	}
	switch {
	case m.synced:
		c.synced++
		summary.Synced++
	case m.failure != "":
		summary.Failed++
		c.failed = append(c.failed, fmt.Sprintf("%s (%s)", m.cluster, m.failure))
	case m.timedOut:
		summary.TimedOut++
		c.timedOut = append(c.timedOut, m.cluster)
	}
}

func add(to *v1alpha1.Summary, summary v1alpha1.Summary) {
	to.Total += summary.Total
	to.Updated += summary.Updated
	to.Synced += summary.Synced
	to.Failed += summary.Failed
	to.TimedOut += summary.TimedOut
}

// finding is a reason and a message.
type finding struct{ reason, message string }

// rolledOut returns the condition RolledOut.
func (p *planner) rolledOut(c counts) (metav1.ConditionStatus, finding) {
	progress := fmt.Sprintf("%d of %d clusters have revision %s synced", c.synced, c.enabled, p.updated)
	if len(c.without) > 0 {
		progress += "; the add-on is not enabled on " + list(c.without)
	}
	switch {
	case len(p.unresolved) > 0:
		return metav1.ConditionUnknown, finding{ReasonPlacementsNotResolved, progress}
	case p.SourceProblem != "":
		return metav1.ConditionFalse, finding{ReasonSourcesInvalid, p.SourceProblem}
	case len(p.invalid) > 0:
		return metav1.ConditionFalse, finding{ReasonStrategyInvalid, p.invalid[0]}
	case p.result.StoreRevision != nil || p.updated == "":
		return metav1.ConditionFalse, finding{ReasonProgressing, "revision " + p.Desired + " is being stored"}
	case c.synced == c.enabled:
		return metav1.ConditionTrue, finding{ReasonRolledOut, progress}
	case len(p.stopped) > 0:
		return metav1.ConditionFalse, finding{ReasonStopped, progress + "; " + p.stopped[0]}
	case p.Set.Spec.Paused:
		return metav1.ConditionFalse, finding{ReasonPaused, progress}
	case c.synced+len(c.failed)+len(c.timedOut) == c.enabled:
		return metav1.ConditionFalse, finding{ReasonClustersFailed, progress}
	}
	return metav1.ConditionFalse, finding{ReasonProgressing, progress}
}

// degraded sets the condition Degraded.
func (p *planner) degraded(c counts) {
	var findings []finding
	found := func(reason string, messages ...string) {
		for _, message := range messages {
			if message != "" {
				findings = append(findings, finding{reason, message})
			}
		}
	}
	found(ReasonSourcesInvalid, p.SourceProblem)
	found(ReasonStrategyInvalid, p.invalid...)
	if p.holding != nil {
		found(ReasonRemovalsHeld, fmt.Sprintf("holding the removal from %d clusters until %s: %s. Restore the Placement, or release it: "+
			"kubectl annotate cmrs -n %s %s --overwrite %s=%s", len(p.holding), p.held.Since.Add(p.RemovalDelay).UTC().Format("15:04:05Z"),
			list(p.holding), p.Set.Namespace, p.Set.Name, manifests.ReleaseAnnotation, p.held.ID))
	}
	found(ReasonStopped, p.stopped...)
	if len(c.failed) > 0 {
		found(ReasonClustersFailed, "failed: "+list(c.failed))
	}
	if len(c.timedOut) > 0 {
		found(ReasonClustersFailed, "timed out: "+list(c.timedOut))
	}
	var stuck []string
	for cluster, refusal := range p.stuck {
		if len(p.objects[cluster]) > 0 {
			stuck = append(stuck, fmt.Sprintf("%s (%s)", cluster, refusal.Message))
		}
	}
	if len(stuck) > 0 {
		found(ReasonRemovalsRefused, "the API server refuses removals: "+list(stuck))
	}
	if len(findings) == 0 {
		p.condition(v1alpha1.ConditionDegraded, metav1.ConditionFalse, finding{ReasonAsExpected, "nothing needs attention"})
		return
	}
	messages := make([]string, len(findings))
	for i, finding := range findings {
		messages[i] = finding.message
	}
	p.condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, finding{findings[0].reason, strings.Join(messages, "; ")})
}

// condition sets a condition, and adds an event when its status or reason changes. That a new set is as
// expected is no event.
func (p *planner) condition(kind string, status metav1.ConditionStatus, why finding) {
	conditions := &p.result.Status.Conditions
	message := text.Shorten(why.message, maxMessage)
	before := meta.FindStatusCondition(*conditions, kind)
	bad := (status == metav1.ConditionTrue) == (kind == v1alpha1.ConditionDegraded)
	if before == nil && (bad || kind == v1alpha1.ConditionRolledOut) || before != nil && (before.Status != status || before.Reason != why.reason) {
		event := Event{Type: corev1.EventTypeNormal, Reason: why.reason, Message: message}
		if bad && kind != v1alpha1.ConditionRolledOut {
			event.Type = corev1.EventTypeWarning
		}
		p.result.Events = append(p.result.Events, event)
	}
	meta.SetStatusCondition(conditions, metav1.Condition{Type: kind, Status: status, Reason: why.reason, Message: message,
		ObservedGeneration: p.Set.Generation, LastTransitionTime: metav1.NewTime(p.now)})
}

func truth(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// list returns the first names in their order, and how many there are beyond.
func list(names []string) string {
	return text.List(slices.Sorted(slices.Values(names)), maxNames)
}
