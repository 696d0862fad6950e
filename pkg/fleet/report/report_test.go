package report

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	agentcondition "open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
)

// TestOrder: the worst cluster is first, and the order does not depend on that of the input.
func TestOrder(t *testing.T) {
	conflict := condition("ConfigMapsSynced", "False", "Conflict", "", time.Hour)
	clusters := []Facts{
		{Name: "a-without", Cluster: cluster()},
		{Name: "b-well", Cluster: cluster(), AddOn: addOn(available, synced)},
		{Name: "c-most", Cluster: cluster(), AddOn: addOn(available, conflict), Mirror: mirror(10, 9, nil)},
		{Name: "d-few", Cluster: cluster(), AddOn: addOn(available, conflict), Mirror: mirror(100, 10, nil)},
		{Name: "e-same", Cluster: cluster(), AddOn: addOn(available, conflict), Mirror: mirror(10, 9, nil)},
		{Name: "f-silent", Cluster: cluster(), AddOn: addOn(available, conflict)},
		{Name: "g-empty", Cluster: cluster(), AddOn: addOn(available, conflict), Mirror: mirror(0, 0, nil)},
		{Name: "h-lost", Cluster: unavailable("lost"), AddOn: addOn(available, synced)},
		{Name: "i-starting", Cluster: cluster(), AddOn: addOn()},
	}
	want := []string{"h-lost", "f-silent", "d-few", "c-most", "e-same", "g-empty", "i-starting", "b-well", "a-without"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
		r := New(Input{Clusters: clusters, ClustersRead: true, AddOnsRead: true, Now: now})
		var got []string
		for _, row := range r.Clusters {
			got = append(got, row.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal("order (-want +got):\n" + diff)
		}
		totals := Totals{Clusters: 9, Enabled: 8, NotWell: 7, ConfigMaps: SyncedCount{Total: 124, Synced: 32},
			States: map[State]int{ClusterUnavailable: 1, Conflict: 5, Starting: 1, Synced: 1, NotEnabled: 1}}
		if diff := cmp.Diff(totals, r.Totals); diff != "" {
			t.Fatal("totals (-want +got):\n" + diff)
		}
		if r.Well {
			t.Fatal("it is reported as well")
		}
	}
}

func TestRow(t *testing.T) {
	expires := metav1.NewTime(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	hosted := addOn(available, synced)
	hosted.HostingCluster = "host"
	agent := func(work string, running bool) *Agent {
		return &Agent{Work: work, Image: "quay.io/x/addon-agent:v0.1.0", Running: running}
	}
	image := func(running bool) *Image {
		return &Image{Version: "v0.1.0", Image: "quay.io/x/addon-agent:v0.1.0", Running: running}
	}
	since := ago(time.Hour)
	deleted := addOn(available, synced)
	deleted.Deleted = &since
	well := func(change func(*Row)) Row {
		row := Row{Name: "x", State: Synced, Well: true, Since: &since, Message: "2 of 2 ConfigMaps synced", Enabled: true, Available: "True",
			ConfigMaps: &ConfigMaps{Total: 2, Synced: 2}}
		change(&row)
		return row
	}
	for _, c := range []struct {
		name, reason string
		facts        Facts
		want         Row
	}{
		{"all that is known", "", Facts{Cluster: cluster(), AddOn: addOn(available, synced, certificate), Agent: agent("x", true)},
			well(func(r *Row) { r.Agent, r.CredentialsExpire = image(true), &expires })},
		{"counts of the mirror", "it is exact, and the message is not promised", Facts{Cluster: cluster(), AddOn: addOn(available, synced), Mirror: mirror(7, 7, nil)},
			well(func(r *Row) { r.ConfigMaps = &ConfigMaps{Total: 7, Synced: 7} })},
		{"another image is rolled out", "the agent may run from the one before", Facts{Cluster: cluster(), AddOn: addOn(available, synced), Agent: agent("x", false)},
			well(func(r *Row) { r.Agent = image(false) })},
		{"hosted", "the ManifestWork is in the hosting cluster's namespace", Facts{Cluster: cluster(), AddOn: hosted, Agent: agent("host", true)},
			well(func(r *Row) { r.Agent = image(true) })},
		{"a work elsewhere", "a cluster may label ManifestWorks in its own namespace as it likes",
			Facts{Cluster: cluster(), AddOn: hosted, Agent: agent("other", true)}, well(func(*Row) {})},
		{"a work elsewhere, not hosted", "the same", Facts{Cluster: cluster(), AddOn: addOn(available, synced), Agent: agent("other", true)}, well(func(*Row) {})},
		{"disabled", "a mirror and a work that are being removed tell nothing", Facts{Cluster: cluster(), Mirror: mirror(3, 3, nil), Agent: agent("x", true)},
			Row{Name: "x", State: NotEnabled, Well: true}},
		{"uninstalling", "it is not enabled, and what it reports is shown", Facts{Cluster: cluster(), AddOn: deleted},
			well(func(r *Row) { r.State, r.Enabled = Uninstalling, false })},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.facts.Name = "x"
			r := New(Input{Clusters: []Facts{c.facts}, ClustersRead: true, AddOnsRead: true, Now: now})
			if diff := cmp.Diff(c.want, r.Clusters[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if !r.Well || r.Totals.NotWell != 0 {
				t.Error("it is reported as not well")
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	token := condition("TokenRefreshed", "True", "AddonTokenRefreshed", "Addon token refreshed, expires at 2026-11-25T12:00:00Z", 800*time.Hour)
	later := token
	later.LastTransitionTime = ago(time.Hour)
	elsewhere := certificate
	elsewhere.Message = "client certificate rotated starting from 2026-10-25 12:00:00 +0000 UTC to 2026-11-24 14:30:00.5 +0200 CEST"
	failed := certificate
	failed.Status = "False"
	other := certificate
	other.Message = "rotated"
	cut := certificate
	cut.Message = "client certificate rotated starting from 2026-10-25 to tomorrow"
	for _, c := range []struct {
		name, reason string
		conditions   []metav1.Condition
		want         string
	}{
		{"none", "nothing is known", nil, ""},
		{"certificate", "OCM's message", []metav1.Condition{available, certificate}, "2026-11-24T12:00:00Z"},
		{"certificate in another zone", "a registration agent whose time zone is not UTC", []metav1.Condition{elsewhere}, "2026-11-24T12:30:00Z"},
		{"token", "OCM's message", []metav1.Condition{token}, "2026-11-25T12:00:00Z"},
		{"token before certificate", "the driver was changed to certificates", []metav1.Condition{token, certificate}, "2026-11-24T12:00:00Z"},
		{"token after certificate", "the driver was changed to tokens", []metav1.Condition{certificate, later}, "2026-11-25T12:00:00Z"},
		{"failed", "the message is about something else", []metav1.Condition{failed}, ""},
		{"another message", "it is not invented", []metav1.Condition{other}, ""},
		{"no time", "it is not invented", []metav1.Condition{cut}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if expires := Expiry(c.conditions); expires != nil {
				got = expires.UTC().Format(time.RFC3339)
			}
			if got != c.want {
				t.Errorf("got %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}

// TestCountsIn reads the messages that the agent writes.
func TestCountsIn(t *testing.T) {
	names := func(n int) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("name-%d.example", i))
		}
		return all
	}
	for _, c := range []struct {
		name  string
		state agentcondition.State
		want  *ConfigMaps
	}{
		{"not listed", agentcondition.State{}, nil},
		{"not readable", agentcondition.State{Trouble: "no route; conflict: nothing"}, nil},
		{"synced", agentcondition.State{Listed: true, Wanted: 3, Synced: 3}, &ConfigMaps{Total: 3, Synced: 3}},
		{"warning", agentcondition.State{Listed: true, Wanted: 3, Synced: 3, Warning: "the Secret is gone"}, &ConfigMaps{Total: 3, Synced: 3}},
		{"one conflict", agentcondition.State{Listed: true, Wanted: 3, Synced: 2, Conflicts: names(1)},
			&ConfigMaps{Total: 3, Synced: 2, NotSynced: map[v1alpha1.MirrorState]int{v1alpha1.MirrorConflict: 1}}},
		{"all of them", agentcondition.State{Listed: true, Wanted: 40, Synced: 7, Conflicts: names(10), Failed: names(11), FailedReason: "quota: a, b; c",
			Contested: names(2), ContestedReason: "manager x, y"},
			&ConfigMaps{Total: 40, Synced: 7, NotSynced: map[v1alpha1.MirrorState]int{v1alpha1.MirrorConflict: 10, v1alpha1.MirrorFailed: 11, v1alpha1.MirrorContested: 2}}},
		{"held", agentcondition.State{Listed: true, Wanted: 1, Synced: 1, Held: names(30), HeldUntil: now, Cluster: "x"}, &ConfigMaps{Total: 1, Synced: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			message := agentcondition.Of(c.state).Message
			if diff := cmp.Diff(c.want, countsIn(message)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", message, diff)
			}
		})
	}
	if got := countsIn("the agent is silent (Available is False: late); its last report: 5 of 6 ConfigMaps synced"); got == nil || got.Synced != 5 || got.Total != 6 {
		t.Errorf("the last report of a silent agent: got %+v", got)
	}
	if got := countsIn("99999999999999999999 of 1 ConfigMaps synced"); got != nil {
		t.Errorf("a number that is too large: got %+v", got)
	}
}

func TestVersionOf(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/x/addon-agent:v0.1.0":              "v0.1.0",
		"localhost:5000/addon:v1@sha256:0123456789": "v1",
		"localhost:5000/addon":                      "latest",
		"addon":                                     "latest",
		"quay.io/x/addon@sha256:0123456789abcdef":   "sha256:0123456789ab",
		"quay.io/x/addon@sha256:0123":               "sha256:0123",
	} {
		if got := versionOf(image); got != want {
			t.Errorf("%s: got %s, want %s", image, got, want)
		}
	}
}
