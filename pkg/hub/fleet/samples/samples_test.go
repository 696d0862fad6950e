package samples

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func condition(kind string, status metav1.ConditionStatus, reason, message string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since)}
}

// certificate expires in d.
func certificate(d time.Duration) metav1.Condition {
	return condition("ClusterCertificateRotated", "True", "ClientCertificateUpdated",
		"client certificate rotated starting from 2026-10-25 12:00:00 +0000 UTC to "+now.Add(d).String(), 700*time.Hour)
}

var (
	available = condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "", 2*time.Hour)
	silent    = condition("Available", "False", "ManagedClusterAddOnLeaseUpdateStopped", "the lease is late", 20*time.Minute)
	noLease   = condition("Available", "Unknown", "ManagedClusterAddOnLeaseNotFound", "", time.Minute)
	synced    = condition("ConfigMapsSynced", "True", "Synced", "2 of 2 ConfigMaps synced", time.Hour)
	conflict  = condition("ConfigMapsSynced", "False", "Conflict", "1 of 4 ConfigMaps synced; conflict: a, b and 1 more", 50*time.Minute)
	held      = condition("ConfigMapsSynced", "False", "DeletionHeld", "0 of 0 ConfigMaps synced; deletion of 9 copies held", time.Minute)
	refused   = condition("ConfigurationValid", "False", "Refused", "the configuration does not exist", time.Minute)
)

func joined(name string, addOn *report.AddOn) report.Facts {
	c := condition("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable", "", 20*time.Hour)
	return report.Facts{Name: name, Cluster: &report.Cluster{Accepted: true, Available: &c}, AddOn: addOn}
}

func enabled(conditions ...metav1.Condition) *report.AddOn {
	return &report.AddOn{Created: ago(10 * time.Hour), Conditions: conditions}
}

func deleted(since time.Duration, conditions ...metav1.Condition) *report.AddOn {
	addOn, at := enabled(conditions...), ago(since)
	addOn.Deleted = &at
	return addOn
}

// text returns the samples that are not 0, one a line, without the common prefix.
func text(all []Sample) map[string]float64 {
	lines := map[string]float64{}
	for _, s := range all {
		if s.Value != 0 {
			lines[strings.TrimPrefix(s.Metric.Name, prefix)+" "+strings.Join(s.Labels, " ")] = s.Value
		}
	}
	return lines
}

func TestOf(t *testing.T) {
	in := func(clusters ...report.Facts) report.Input {
		return report.Input{Clusters: clusters, ClustersRead: true, AddOnsRead: true, Now: now}
	}
	expires := func(d time.Duration) float64 { return float64(now.Add(d).Unix()) }
	for _, test := range []struct {
		name, reason string
		in           report.Input
		perCluster   bool
		want         map[string]float64
	}{
		{name: "no cluster", reason: "nothing is counted", in: in(), want: map[string]float64{}},
		{name: "not enabled", reason: "a cluster without the add-on is well, and its certificate is no matter",
			in: in(joined("a", nil)), want: map[string]float64{"clusters NotEnabled well": 1}},
		{name: "well", reason: "the first of two certificates counts",
			in: in(joined("a", enabled(available, synced, certificate(48*time.Hour))), joined("b", enabled(available, synced, certificate(24*time.Hour)))),
			want: map[string]float64{"clusters Synced well": 2, "state_oldest_seconds Synced": 3600, "configmaps Synced": 4,
				"credentials_expiration_timestamp_seconds ": expires(24 * time.Hour)}},
		{name: "the certificate of an add-on that is being uninstalled", reason: "nobody renews it any more",
			in: in(joined("a", deleted(time.Minute, available, synced, certificate(time.Hour)))),
			want: map[string]float64{"clusters Uninstalling well": 1, "state_oldest_seconds Uninstalling": 60, "configmaps Synced": 2,
				"in_progress uninstalling": 1, "in_progress_oldest_seconds uninstalling": 60}},
		{name: "the oldest of two uninstalls", reason: "the alert is about the one that does not end",
			in: in(joined("a", deleted(time.Hour)), joined("b", deleted(time.Minute))),
			want: map[string]float64{"clusters Uninstalling well": 2, "state_oldest_seconds Uninstalling": 3600,
				"in_progress uninstalling": 2, "in_progress_oldest_seconds uninstalling": 3600}},
		{name: "conflict", reason: "the message names two and counts one more; all are of the total",
			in: in(joined("a", enabled(available, conflict))),
			want: map[string]float64{"clusters Conflict wrong": 1, "state_oldest_seconds Conflict": 3000, "configmaps Synced": 1,
				"configmaps Conflict": 3}},
		{name: "held deletions", reason: "the copies are in danger whatever else is wrong; an add-on that is being uninstalled deletes them on purpose",
			in: in(joined("a", enabled(available, held)), joined("b", enabled(available, held, refused)), joined("c", deleted(time.Minute, held))),
			want: map[string]float64{"clusters DeletionHeld wrong": 1, "state_oldest_seconds DeletionHeld": 60, "clusters Refused wrong": 1,
				"state_oldest_seconds Refused": 60, "clusters Uninstalling well": 1, "state_oldest_seconds Uninstalling": 60,
				"clusters_holding_deletions ": 2, "in_progress uninstalling": 1, "in_progress_oldest_seconds uninstalling": 60}},
		{name: "only the numbers", reason: "the hub does not know why they are not synced",
			in: in(joined("a", enabled(available, condition("ConfigMapsSynced", "False", "Syncing", "1 of 4 ConfigMaps synced", time.Second)))),
			want: map[string]float64{"clusters Syncing passing": 1, "state_oldest_seconds Syncing": 1, "configmaps Synced": 1,
				"configmaps other": 3}},
		{name: "a copy that cannot be deleted", reason: "it is not one of the total, and must not make other negative",
			in: in(joined("a", enabled(available, condition("ConfigMapsSynced", "False", "Failed", "1 of 1 ConfigMaps synced; failed: old", time.Second))),
				joined("b", enabled(available, condition("ConfigMapsSynced", "False", "Syncing", "0 of 1 ConfigMaps synced", time.Second)))),
			want: map[string]float64{"clusters Failed wrong": 1, "state_oldest_seconds Failed": 1, "clusters Syncing passing": 1,
				"state_oldest_seconds Syncing": 1, "configmaps Synced": 1, "configmaps Failed": 1, "configmaps other": 1}},
		{name: "being enabled", reason: "OCM has not seen the agent's lease, also where it reported earlier",
			in: in(joined("a", enabled(noLease)), joined("b", enabled(condition("Available", "Unknown", "ManagedClusterAddOnLeaseNotFound", "", 5*time.Minute), synced))),
			want: map[string]float64{"clusters Starting passing": 2, "state_oldest_seconds Starting": 300, "longest_silence_seconds ": 300, "configmaps Synced": 2,
				"in_progress enabling": 2, "in_progress_oldest_seconds enabling": 300}},
		{name: "an agent that never reported and is not starting", reason: "its state has an alert of its own",
			in: in(joined("a", enabled(available)), joined("b", enabled(condition("Degraded", "True", "", "no pod", time.Minute)))),
			want: map[string]float64{"clusters Waiting passing": 1, "state_oldest_seconds Waiting": 7200,
				"clusters Degraded wrong": 1, "state_oldest_seconds Degraded": 60}},
		{name: "silent", reason: "since OCM reports it as not available, though another state is shown for one of them",
			in: in(joined("a", enabled(silent, synced)), joined("b", enabled(condition("ConfigurationValid", "False", "Refused", "", time.Minute),
				condition("Available", "False", "", "", 30*time.Minute), synced))),
			want: map[string]float64{"clusters Unavailable wrong": 1, "state_oldest_seconds Unavailable": 1200, "clusters Refused wrong": 1,
				"state_oldest_seconds Refused": 60, "configmaps Synced": 4, "longest_silence_seconds ": 1800}},
		{name: "lost clusters", reason: "what never was enabled there, the certificates and the agents' silence wait for OCM",
			in: in(report.Facts{Name: "a", Cluster: &report.Cluster{Accepted: true}, AddOn: enabled(certificate(time.Hour))},
				report.Facts{Name: "b", AddOn: enabled(silent, synced, certificate(time.Hour))}),
			want: map[string]float64{"clusters ClusterUnavailable wrong": 1, "clusters NoManagedCluster wrong": 1, "configmaps Synced": 2}},
		{name: "the hub's clock is ahead", reason: "no duration is below 0", in: in(joined("a", deleted(-time.Minute))),
			want: map[string]float64{"clusters Uninstalling well": 1, "in_progress uninstalling": 1}},
		{name: "per cluster", reason: "the flag asks for it", perCluster: true,
			in: in(joined("a", enabled(available, synced, certificate(24*time.Hour))), joined("b", nil)),
			want: map[string]float64{"clusters Synced well": 1, "clusters NotEnabled well": 1, "state_oldest_seconds Synced": 3600, "configmaps Synced": 2,
				"credentials_expiration_timestamp_seconds ": expires(24 * time.Hour), "cluster_state a Synced": 1, "cluster_state b NotEnabled": 1,
				"cluster_credentials_expiration_timestamp_seconds a": expires(24 * time.Hour)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, text(Of(test.in, test.perCluster))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestSeriesDoNotDependOnTheClusters: one cluster or many have the same series, but for the expiry, which one of them
// has to have. So a state that no cluster is in is 0, and the number of series does not grow.
func TestSeriesDoNotDependOnTheClusters(t *testing.T) {
	series := func(clusters ...report.Facts) map[string]bool {
		all := map[string]bool{}
		for _, s := range Of(report.Input{Clusters: clusters, ClustersRead: true, AddOnsRead: true, Now: now}, false) {
			all[s.Metric.Name+strings.Join(s.Labels, " ")] = true
		}
		return all
	}
	many := series(joined("a", nil), joined("b", enabled(available, synced)), joined("c", deleted(time.Hour)), joined("d", enabled(available, conflict)))
	if diff := cmp.Diff(series(), many); diff != "" {
		t.Errorf("(-no cluster +four clusters):\n%s", diff)
	}
	if want := 2*(len(report.States)-1) + 5 + 1 + 1 + 4; len(many) != want {
		t.Errorf("%d series, want %d", len(many), want)
	}
}
