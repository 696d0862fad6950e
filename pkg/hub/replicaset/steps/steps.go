// Package steps decides which clusters of a Placement may get a new revision now. The decision
// is that of OCM's rollout handler
// (https://github.com/open-cluster-management-io/sdk-go/blob/v1.3.0/pkg/apis/cluster/v1alpha1/rollout.go),
// asked in a way that avoids its defects (docs/upstream/sdk-go-rollout.md):
//
//   - It is asked for one phase at a time: each mandatory group, then the other groups or all other
//     clusters. Asked for all at once, it confuses the failures of one phase with those of another.
//   - It gets no times. Its clock is a variable of its package, so a caller cannot pass the time.
//     Whether a deadline or soak time is over is decided here.
//   - It gets absolute numbers, because it takes a maxFailures above the number of clusters for zero.
//   - It gets no cluster that waits, because it counts such a cluster instead of one in progress.
//   - It gets no cluster that is done, because its time grows with the square of their number.
//
// The package reads no object and knows no revision: the caller tells the state of each cluster
// with the revision that is being rolled out. It neither removes clusters, nor pauses a rollout.
package steps

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	rolloutv1alpha1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	rolloutv1beta1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// Group is a decision group of a Placement.
type Group struct {
	Name     string
	Index    int32
	Clusters []string
}

// State is the state of one cluster with the revision that is being rolled out.
type State struct {
	// Status is ToApply as long as the cluster does not have the revision. TimeOut is a cluster that is
	// not waited for: it counts as a failure. Skip is a cluster that does not take part.
	Status rolloutv1alpha1.RolloutStatus
	// Since is when the cluster succeeded (Succeeded), or was given the revision (Progressing, Failed).
	Since time.Time
}

// Decision is what may happen now.
type Decision struct {
	// Start are the clusters that may get the revision now and do not have it, sorted.
	Start []string
	// TimedOut are the clusters that were Progressing for longer than the deadline, sorted.
	TimedOut []string
	// Stopped is why the rollout does not continue, or empty.
	Stopped string
	// Recheck is when the decision can change by time alone: the end of the next deadline or soak time.
	// It is zero if there is none.
	Recheck time.Time
}

// Decide returns what may happen at the time now. state returns the state of a cluster. A cluster that
// is in several groups belongs to the first. Decide returns an error that names the field when the
// strategy is invalid.
func Decide(strategy clusterv1alpha1.RolloutStrategy, groups []Group, state func(cluster string) State, now time.Time) (Decision, error) {
	var decision Decision
	rules, err := parse(strategy)
	if err != nil {
		return decision, err
	}
	groups = ordered(groups)
	phases, err := rules.phases(groups)
	if err != nil {
		return decision, err
	}
	states := map[string]rolloutv1alpha1.RolloutStatus{}
	for _, group := range groups {
		for _, cluster := range group.Clusters {
			states[cluster] = rules.at(cluster, state(cluster), now, &decision)
		}
	}
	slices.Sort(decision.TimedOut)
	if decision.Stopped = rules.absent(groups, states); decision.Stopped != "" {
		return decision, nil
	}
	for _, phase := range phases {
		failed, finished := phase.progress(states)
		if failed > phase.tolerated {
			decision.Stopped = fmt.Sprintf("%d of %d clusters of %s failed, %d tolerated", failed, len(phase.clusters), phase.name, phase.tolerated)
			return decision, nil
		}
		if finished {
			continue
		}
		decision.Start, err = phase.start(states)
		return decision, err
	}
	return decision, nil
}

// at returns the status of a cluster at the time now. It adds to the decision what follows from the
// time.
func (r rules) at(cluster string, state State, now time.Time, decision *Decision) rolloutv1alpha1.RolloutStatus {
	var end time.Time
	switch state.Status {
	case rolloutv1alpha1.Succeeded:
		end = state.Since.Add(r.soak)
	case rolloutv1alpha1.Progressing, rolloutv1alpha1.Failed:
		if !r.hasDeadline {
			return state.Status
		}
		end = state.Since.Add(r.deadline)
	default:
		return state.Status
	}
	if now.Before(end) {
		if decision.Recheck.IsZero() || end.Before(decision.Recheck) {
			decision.Recheck = end
		}
		if state.Status == rolloutv1alpha1.Succeeded {
			// A cluster that soaks is in progress for the handler.
			return rolloutv1alpha1.Progressing
		}
		return state.Status
	}
	switch state.Status {
	case rolloutv1alpha1.Succeeded:
		return state.Status
	case rolloutv1alpha1.Progressing:
		decision.TimedOut = append(decision.TimedOut, cluster)
	}
	return rolloutv1alpha1.TimeOut
}

// ordered returns the groups by index, and each cluster once. The handler drops groups behind a gap
// in the indices, and which name it takes for an index that has two depends on the order of a map.
func ordered(groups []Group) []Group {
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b Group) int { return int(a.Index) - int(b.Index) })
	seen := sets.New[string]()
	for i, group := range groups {
		groups[i].Clusters = nil
		for _, cluster := range group.Clusters {
			if !seen.Has(cluster) {
				seen.Insert(cluster)
				groups[i].Clusters = append(groups[i].Clusters, cluster)
			}
		}
	}
	return groups
}

// phase are clusters that are updated before the next phase begins.
type phase struct {
	// name is that of the phase in messages.
	name     string
	clusters []string
	// concurrency is how many clusters may be in progress at once, or 0 for all of them.
	concurrency int
	// tolerated is how many clusters may fail.
	tolerated int
}

// progress returns how many clusters failed, and reports whether the next phase may begin: a failure
// that is tolerated is not waited for.
func (p phase) progress(states map[string]rolloutv1alpha1.RolloutStatus) (failed int, finished bool) {
	finished = true
	for _, cluster := range p.clusters {
		switch states[cluster] {
		case rolloutv1alpha1.Failed, rolloutv1alpha1.TimeOut:
			failed++
		case rolloutv1alpha1.ToApply, rolloutv1alpha1.Progressing:
			finished = false
		}
	}
	return failed, finished
}

// start returns the clusters of the phase that may get the revision now, sorted.
func (p phase) start(states map[string]rolloutv1alpha1.RolloutStatus) ([]string, error) {
	clusters := sets.New[string]()
	var existing []rolloutv1alpha1.ClusterRolloutStatus
	for _, cluster := range p.clusters {
		switch status := states[cluster]; status {
		case rolloutv1alpha1.Succeeded, rolloutv1alpha1.Skip:
			continue
		case rolloutv1alpha1.ToApply:
		default:
			existing = append(existing, rolloutv1alpha1.ClusterRolloutStatus{ClusterName: cluster, Status: status})
		}
		clusters.Insert(cluster)
	}
	handler, err := rolloutv1alpha1.NewRolloutHandler[struct{}](rolloutv1beta1.NewPlacementDecisionClustersTracker(nil, nil, clusters), nil)
	if err != nil {
		return nil, fmt.Errorf("asking OCM's rollout handler: %w", err)
	}
	_, result, err := handler.GetRolloutCluster(clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive,
		Progressive: &clusterv1alpha1.RolloutProgressive{
			// The handler takes a number above that of the clusters for none, so cut it.
			RolloutConfig:  clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(int32(min(p.tolerated, len(clusters))))},
			MaxConcurrency: intstr.FromInt32(int32(min(p.concurrency, len(clusters)))),
		},
	}, existing)
	if err != nil {
		return nil, fmt.Errorf("asking OCM's rollout handler: %w", err)
	}
	var start []string
	for _, status := range result.ClustersToRollout {
		if status.Status == rolloutv1alpha1.ToApply {
			start = append(start, status.ClusterName)
		}
	}
	slices.Sort(start)
	return start, nil
}
