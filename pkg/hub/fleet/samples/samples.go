// Package samples turns facts about the clusters of a hub into the samples of the fleet's metrics. It is pure:
// package fleet reads the facts from the controller's caches and serves the samples.
package samples

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

// Metric is a metric of the fleet. docs/reference.md#metrics has them for users.
type Metric struct {
	Name, Help string
	Labels     []string
}

const prefix = "helloworld_fleet_"

// The metrics of the fleet. All are gauges.
var (
	Clusters = Metric{prefix + "clusters", "Clusters of the hub by state, as in kubectl helloworld status, and by what the state means: " +
		"well, passing or wrong.", []string{"state", "health"}}
	HoldingDeletions = Metric{prefix + "clusters_holding_deletions", "Clusters whose agent last reported that it holds the deletion of many " +
		"copies, whatever their state.", nil}
	OldestState = Metric{prefix + "state_oldest_seconds", "For how long the cluster that is longest in the state has been in it; " +
		"0 if there is none, or if that is not known.", []string{"state"}}
	ConfigMaps = Metric{prefix + "configmaps", "ConfigMaps to copy to all clusters by state: Synced, Failed, Conflict, Contested, " +
		"or other, as the agents last reported.", []string{"state"}}
	CredentialsExpire = Metric{prefix + "credentials_expiration_timestamp_seconds", "When the first of the agents' certificates or tokens " +
		"for the hub expires, in seconds since 1970, but for clusters that are lost; no series while none is known.", nil}
	LongestSilence = Metric{prefix + "longest_silence_seconds", "For how long the agent that is silent for longest has been reported " +
		"as not available, but for clusters that are lost; 0 if every agent is available.", nil}
	InProgress = Metric{prefix + "in_progress", "Clusters on which the add-on is being enabled (OCM does not see the agent's lease " +
		"yet) or uninstalled.", []string{"change"}}
	OldestInProgress = Metric{prefix + "in_progress_oldest_seconds", "For how long the oldest enabling or uninstalling has been in progress; " +
		"0 if there is none.", []string{"change"}}
	ClusterState = Metric{prefix + "cluster_state", "1 for the state of each cluster; only with --metrics-per-cluster.",
		[]string{"cluster", "state"}}
	ClusterCredentialsExpire = Metric{prefix + "cluster_credentials_expiration_timestamp_seconds", "When the agent's certificate or token " +
		"of each cluster expires, in seconds since 1970; only with --metrics-per-cluster.", []string{"cluster"}}
)

// Metrics are all metrics of the fleet.
var Metrics = []*Metric{&Clusters, &HoldingDeletions, &OldestState, &ConfigMaps, &CredentialsExpire, &LongestSilence, &InProgress, &OldestInProgress,
	&ClusterState, &ClusterCredentialsExpire}

// Sample is a value of a metric. Labels are the values of the metric's labels, in their order.
type Sample struct {
	Metric *Metric
	Value  float64
	Labels []string
}

// other is the state of ConfigMaps of which only the number is known, as in kubectl helloworld status.
const other = "other"

// configMapStates are the states of ConfigMaps that the hub can tell apart by the condition ConfigMapsSynced.
var configMapStates = []v1alpha1.MirrorState{v1alpha1.MirrorFailed, v1alpha1.MirrorConflict, v1alpha1.MirrorContested}

var health = map[report.Health]string{report.Well: "well", report.Passing: "passing", report.Wrong: "wrong"}

// Of returns the samples for the clusters. perCluster adds those of each cluster. Every series whose labels do not
// depend on the clusters is always there, so that a query of a state in which no cluster is returns 0.
func Of(in report.Input, perCluster bool) []Sample {
	c := counts{states: map[report.State]int{}, oldest: map[report.State]time.Duration{}, configMaps: map[v1alpha1.MirrorState]int{}, now: in.Now}
	lost := map[string]bool{}
	var each []Sample
	for _, row := range report.New(in).Clusters {
		c.addRow(row)
		lost[row.Name] = isLost(row)
		if !perCluster {
			continue
		}
		each = append(each, Sample{&ClusterState, 1, []string{row.Name, string(row.State)}})
		if row.CredentialsExpire != nil {
			each = append(each, Sample{&ClusterCredentialsExpire, seconds(row.CredentialsExpire.Time), []string{row.Name}})
		}
	}
	for i := range in.Clusters {
		c.addAddOn(in.Clusters[i].AddOn, lost[in.Clusters[i].Name])
	}
	return append(c.samples(), each...)
}

// isLost reports whether OCM does not reach the cluster. Until it does, OCM does not renew the certificate there, and the agent is
// silent, which must not hide the other clusters.
func isLost(row report.Row) bool {
	return row.State == report.ClusterUnavailable || row.State == report.NoManagedCluster
}

// counts is what is summed up over all clusters.
type counts struct {
	now    time.Time
	states map[report.State]int
	oldest map[report.State]time.Duration
	// configMaps lacks the states that are not in configMapStates.
	configMaps     map[v1alpha1.MirrorState]int
	synced, others int
	holding        int
	expires        time.Time
	silence        time.Duration
	deleting       int
	deletedIn      time.Duration
}

func (c *counts) addRow(row report.Row) {
	c.states[row.State]++
	if row.Since != nil {
		c.oldest[row.State] = max(c.oldest[row.State], c.since(*row.Since))
	}
	if expires := row.CredentialsExpire; row.Enabled && expires != nil && !isLost(row) && (c.expires.IsZero() || expires.Time.Before(c.expires)) {
		c.expires = expires.Time
	}
	if row.ConfigMaps == nil {
		return
	}
	c.synced += row.ConfigMaps.Synced
	rest := row.ConfigMaps.Total - row.ConfigMaps.Synced
	for _, state := range configMapStates {
		c.configMaps[state] += row.ConfigMaps.NotSynced[state]
		rest -= row.ConfigMaps.NotSynced[state]
	}
	// A copy that cannot be deleted has failed and is not one of the total.
	c.others += max(0, rest)
}

func (c *counts) addAddOn(addOn *report.AddOn, lost bool) {
	switch {
	case addOn == nil:
		return
	case addOn.Deleted != nil:
		c.deleting++
		c.deletedIn = max(c.deletedIn, c.since(*addOn.Deleted))
		return
	}
	// The copies are deleted when the hold ends. Whatever else is wrong on the cluster must not hide that.
	if synced := meta.FindStatusCondition(addOn.Conditions, manifests.ConditionConfigMapsSynced); synced != nil &&
		synced.Status == metav1.ConditionFalse && synced.Reason == string(report.DeletionHeld) {
		c.holding++
	}
	available := meta.FindStatusCondition(addOn.Conditions, addonv1beta1.ManagedClusterAddOnConditionAvailable)
	if !lost && available != nil && available.Status != metav1.ConditionTrue {
		c.silence = max(c.silence, c.since(available.LastTransitionTime))
	}
}

func (c *counts) since(t metav1.Time) time.Duration { return c.now.Sub(t.Time) }

func (c *counts) samples() []Sample {
	var all []Sample
	add := func(metric *Metric, value float64, labels ...string) {
		all = append(all, Sample{metric, value, labels})
	}
	for _, state := range report.States {
		if state == report.Gone {
			continue // only a watch reports it
		}
		add(&Clusters, float64(c.states[state]), string(state), health[state.Health()])
		add(&OldestState, c.oldest[state].Seconds(), string(state))
	}
	add(&HoldingDeletions, float64(c.holding))
	add(&ConfigMaps, float64(c.synced), string(v1alpha1.MirrorSynced))
	for _, state := range configMapStates {
		add(&ConfigMaps, float64(c.configMaps[state]), string(state))
	}
	add(&ConfigMaps, float64(c.others), other)
	if !c.expires.IsZero() {
		add(&CredentialsExpire, seconds(c.expires))
	}
	add(&LongestSilence, c.silence.Seconds())
	add(&InProgress, float64(c.states[report.Starting]), "enabling")
	add(&InProgress, float64(c.deleting), "uninstalling")
	add(&OldestInProgress, c.oldest[report.Starting].Seconds(), "enabling")
	add(&OldestInProgress, c.deletedIn.Seconds(), "uninstalling")
	return all
}

func seconds(t time.Time) float64 { return float64(t.Unix()) }
