package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// ago is a time before now.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func condition(kind string, status metav1.ConditionStatus, reason, message string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since)}
}

// Conditions of an add-on that is well, and certificate, which expires in a day.
var (
	available   = condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "", 2*time.Hour)
	synced      = condition("ConfigMapsSynced", "True", "Synced", "2 of 2 ConfigMaps synced", time.Hour)
	certificate = condition("ClusterCertificateRotated", "True", "ClientCertificateUpdated",
		"client certificate rotated starting from 2026-10-25 12:00:00 +0000 UTC to 2026-11-24 12:00:00 +0000 UTC", 700*time.Hour)
)

// addOn returns an add-on that was created 10 hours ago.
func addOn(conditions ...metav1.Condition) *AddOn {
	return &AddOn{Created: ago(10 * time.Hour), Conditions: conditions}
}

// cluster returns the available ManagedCluster.
func cluster() *Cluster { return joined(20 * time.Hour) }

func joined(since time.Duration) *Cluster {
	c := condition("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable", "", since)
	return &Cluster{Accepted: true, Available: &c}
}

func unavailable(message string) *Cluster {
	c := condition("ManagedClusterConditionAvailable", "Unknown", "ManagedClusterLeaseUpdateStopped", message, 3*time.Hour)
	return &Cluster{Accepted: true, Available: &c}
}

func mirror(total, synced int, groups map[v1alpha1.MirrorState]Group) *Mirror {
	return &Mirror{Total: total, Synced: synced, NotSynced: groups}
}

func TestState(t *testing.T) {
	expired := condition("ClusterCertificateRotated", "True", "ClientCertificateUpdated",
		"client certificate rotated starting from 2026-10-24 12:00:00 +0000 UTC to 2026-11-23 12:00:00 +0000 UTC", 700*time.Hour)
	refused := condition("ConfigurationValid", "False", "Refused", "the namespace is refused", 4*time.Hour)
	degraded := condition("Degraded", "True", "AgentNotCreated", "exceeded quota", 5*time.Hour)
	silent := condition("Available", "False", "ManagedClusterAddOnLeaseUpdateStopped", "the lease is late", 6*time.Hour)
	lost := condition("Available", "Unknown", "ManagedClusterLeaseUpdateStopped", "the cluster is silent", 7*time.Hour)
	noLease := condition("Available", "Unknown", "ManagedClusterAddOnLeaseNotFound", "no lease", 8*time.Hour)
	notRenewed := condition("ClusterCertificateRotated", "False", "ClientCertificateUpdateFailed", "too many csr", 9*time.Hour)
	noToken := condition("TokenRefreshed", "False", "TokenCreationFailed", "no token", 9*time.Hour)
	failed := condition("ConfigMapsSynced", "False", "Failed", "0 of 1 ConfigMaps synced; failed: a: quota", 50*time.Minute)
	held := condition("ConfigMapsSynced", "False", "DeletionHeld", "5 of 5 ConfigMaps synced; deletion of 9 copies held", 50*time.Minute)
	conflict := condition("ConfigMapsSynced", "False", "Conflict", "1 of 2 ConfigMaps synced; conflict: a", 50*time.Minute)
	contested := condition("ConfigMapsSynced", "False", "Contested", "1 of 2 ConfigMaps synced; contested: a: by x", 50*time.Minute)
	syncing := condition("ConfigMapsSynced", "False", "Syncing", "1 of 2 ConfigMaps synced", 50*time.Minute)
	waiting := condition("ConfigMapsSynced", "Unknown", "Waiting", "the ConfigMaps are not listed yet", 50*time.Minute)
	group := func(message string) Group { return Group{Count: 1, Since: ago(time.Minute), Message: message} }
	deleted := addOn(available, synced)
	deletion := ago(2 * time.Minute)
	deleted.Deleted = &deletion

	for _, c := range []struct {
		name, reason string
		cluster      *Cluster
		addOn        *AddOn
		mirror       *Mirror
		want         State
		since        time.Duration // before now; negative means unknown
		message      string
	}{
		{"well", "everything is True: since the last of them became so", cluster(), addOn(available, synced, certificate), mirror(2, 2, nil),
			Synced, time.Hour, "2 of 2 ConfigMaps synced"},
		{"well, available last", "as before, the other way around", cluster(),
			addOn(condition("Available", "True", "", "", time.Minute), synced), nil, Synced, time.Minute, "2 of 2 ConfigMaps synced"},
		{"not enabled", "a cluster without the add-on is no fault", cluster(), nil, nil, NotEnabled, -1, ""},
		{"not enabled, unavailable", "what does not concern the add-on is not its state", unavailable("lost"), nil, nil, NotEnabled, -1, ""},
		{"uninstalling", "it is no longer enabled, whatever it reports", unavailable("lost"), deleted, nil, Uninstalling, 2 * time.Minute, "2 of 2 ConfigMaps synced"},

		{"no ManagedCluster", "nobody writes the conditions any more", nil, addOn(available, synced), nil, NoManagedCluster, -1,
			"there is no ManagedCluster x: delete the ManagedClusterAddOn, or join the cluster"},
		{"not accepted", "its agents may not do anything", &Cluster{Available: cluster().Available}, addOn(available, synced), nil, ClusterUnavailable, -1,
			"the hub has not accepted the cluster"},
		{"not joined", "it has no agents", &Cluster{Accepted: true}, addOn(), nil, ClusterUnavailable, -1, "the cluster has not joined"},
		{"cluster lost", "the cause of all that follows", unavailable("lost"), addOn(refused, expired, lost, synced), nil, ClusterUnavailable, 3 * time.Hour, "lost"},
		{"cluster lost, by the add-on", "OCM's hub writes this when the cluster is lost", cluster(), addOn(lost, refused), nil, ClusterUnavailable, 7 * time.Hour,
			"the cluster is silent"},
		{"refused", "before what is the consequence: it may not run at all", cluster(), addOn(refused, expired, degraded, silent), nil, Refused, 4 * time.Hour,
			"the namespace is refused"},
		{"expired", "the agent cannot connect, so it is degraded and silent", cluster(), addOn(expired, degraded, silent, synced), nil, CertificateExpired, 0,
			"the agent's credentials for the hub expired at 2026-11-23T12:00:00Z"},
		{"degraded", "without a pod there is no lease", cluster(), addOn(degraded, silent, conflict), nil, Degraded, 5 * time.Hour, "exceeded quota"},
		{"unavailable", "its last report may be old", cluster(), addOn(silent, conflict), nil, Unavailable, 6 * time.Hour, "the lease is late"},
		{"failed", "the condition's reason", cluster(), addOn(available, failed, notRenewed), nil, Failed, 50 * time.Minute, failed.Message},
		{"held", "the condition's reason", cluster(), addOn(available, held), nil, DeletionHeld, 50 * time.Minute, held.Message},
		{"conflict", "the condition's reason", cluster(), addOn(available, conflict), nil, Conflict, 50 * time.Minute, conflict.Message},
		{"contested", "the condition's reason", cluster(), addOn(available, contested), nil, Contested, 50 * time.Minute, contested.Message},
		{"conflict while starting", "a person has something to do", cluster(), addOn(conflict), nil, Conflict, 50 * time.Minute, conflict.Message},
		{"conflict, with its time", "the condition keeps its time when only its reason changes", cluster(), addOn(available, conflict),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorConflict: group("a")}), Conflict, time.Minute, conflict.Message},
		{"conflict, other entries", "another state's time is not the conflict's", cluster(), addOn(available, conflict),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorPending: group("a")}), Conflict, 50 * time.Minute, conflict.Message},
		{"conflict in the mirror alone", "the agent writes the condition later", cluster(), addOn(available, synced),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorConflict: group("a"), v1alpha1.MirrorContested: group("b")}), Conflict, time.Minute, "a"},
		{"failed in the mirror alone", "the worst of its states", cluster(), addOn(available),
			mirror(2, 0, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorConflict: group("a"), v1alpha1.MirrorFailed: group("b")}), Failed, time.Minute, "b"},
		{"contested in the mirror alone", "", cluster(), addOn(available, synced),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorContested: group("b")}), Contested, time.Minute, "b"},
		{"an old mirror", "a condition that is not True is later than a report of conflicts", cluster(), addOn(available, waiting),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorConflict: group("a")}), Waiting, 50 * time.Minute, waiting.Message},
		{"certificate not renewed", "it works until the certificate expires", cluster(), addOn(available, synced, notRenewed), nil, CertificateNotRenewed,
			9 * time.Hour, "too many csr"},
		{"token not renewed", "the same with tokens", cluster(), addOn(available, synced, noToken), nil, CertificateNotRenewed, 9 * time.Hour, "no token"},
		{"just enabled", "no condition yet", cluster(), addOn(), nil, Starting, 10 * time.Hour, "OCM has not reported whether the agent is available"},
		{"no lease", "the agent has not started: since OCM noticed that", cluster(), addOn(noLease, synced), nil, Starting, 8 * time.Hour, "no lease"},
		{"enabled before the cluster joined", "the agent could not start before", joined(2 * time.Minute), addOn(noLease), nil, Starting, 2 * time.Minute, "no lease"},
		{"no report", "the agent has a lease and has not reported", cluster(), addOn(available), nil, Waiting, 2 * time.Hour, "the agent has not reported"},
		{"waiting, available last", "it could not report before", cluster(), addOn(condition("Available", "True", "", "", time.Minute), waiting), nil, Waiting, time.Minute,
			"the ConfigMaps are not listed yet"},
		{"waiting", "the agent has not listed", cluster(), addOn(available, waiting), nil, Waiting, 50 * time.Minute, "the ConfigMaps are not listed yet"},
		{"syncing", "a copy is about to be written", cluster(), addOn(available, syncing), nil, Syncing, 50 * time.Minute, "1 of 2 ConfigMaps synced"},
		{"syncing in the mirror alone", "the agent writes the condition later", cluster(), addOn(available, synced),
			mirror(2, 1, map[v1alpha1.MirrorState]Group{v1alpha1.MirrorPending: group("c")}), Syncing, time.Minute, "c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(Input{Clusters: []Facts{{Name: "x", Cluster: c.cluster, AddOn: c.addOn, Mirror: c.mirror}}, ClustersRead: true, AddOnsRead: true, Now: now})
			row := r.Clusters[0]
			if row.State != c.want || row.Message != c.message {
				t.Errorf("got %s %q, want %s %q: %s", row.State, row.Message, c.want, c.message, c.reason)
			}
			switch {
			case c.since < 0 && row.Since != nil:
				t.Errorf("got since %s, want none", row.Since)
			case c.since >= 0 && (row.Since == nil || now.Sub(row.Since.Time) != c.since):
				t.Errorf("got since %v, want %s ago: %s", row.Since, c.since, c.reason)
			}
		})
	}
}

// TestStateUnread: what could not be read is not taken for missing.
func TestStateUnread(t *testing.T) {
	for _, c := range []struct {
		name, reason     string
		facts            Facts
		clusters, addOns bool
		want             State
		well             bool
	}{
		{"no ManagedClusters", "the cluster may be there", Facts{AddOn: addOn(available, synced)}, false, true, Synced, true},
		{"no ManagedClusters, a lost cluster", "the add-on's condition tells", Facts{AddOn: addOn(condition("Available", "Unknown", "ManagedClusterLeaseUpdateStopped", "", 0))},
			false, true, ClusterUnavailable, false},
		{"no ManagedClusterAddOns", "the cluster may have the add-on", Facts{Cluster: cluster()}, true, false, Unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(Input{Clusters: []Facts{c.facts}, ClustersRead: c.clusters, AddOnsRead: c.addOns, Now: now})
			if got := r.Clusters[0].State; got != c.want || r.Well != c.well {
				t.Errorf("got %s, well %t, want %s, well %t: %s", got, r.Well, c.want, c.well, c.reason)
			}
		})
	}
}

// TestHealth: every state is listed once, and counts for the exit code as documented.
func TestHealth(t *testing.T) {
	want := map[State]Health{Synced: Well, NotEnabled: Well, Uninstalling: Well, Gone: Well,
		Starting: Passing, Waiting: Passing, Syncing: Passing, Unknown: Passing}
	seen := map[State]bool{}
	for _, state := range States {
		health, listed := want[state]
		if !listed {
			health = Wrong
		}
		if seen[state] || state.Health() != health {
			t.Errorf("%s: listed before: %t; health %d, want %d", state, seen[state], state.Health(), health)
		}
		seen[state] = true
	}
	if len(States) != 19 {
		t.Errorf("%d states are ordered", len(States))
	}
}
