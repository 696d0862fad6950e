//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func apply(t *testing.T, store status.Writer, leafHub string, batch status.Batch) status.Result {
	t.Helper()
	result, err := store.Apply(t.Context(), leafHub, batch)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// rows returns what status.compliance holds.
func (d *database) rows() string {
	d.tb.Helper()
	return d.text(`SELECT coalesce(string_agg(right(id::text, 1) || ' ' || leaf_hub_name || ' ' || cluster_name || ' ' ||
		error || ' ' || compliance, E'\n' ORDER BY id, leaf_hub_name, cluster_name), '') FROM status.compliance`)
}

func TestApplyCompliance(t *testing.T) {
	d := newDatabase(t)
	store := d.open(writer)
	steps := []struct {
		name  string
		hub   string
		batch status.Batch
		want  status.Result
		rows  string
	}{
		{"the first rows", "hub1", status.Batch{Compliance: []status.ComplianceEntry{
			compliance("1", "a", "compliant"), compliance("1", "b", "unknown"), compliance("2", "a", "compliant")}},
			status.Result{Written: 3}, "1 hub1 a none compliant\n1 hub1 b none unknown\n2 hub1 a none compliant"},
		{"the same names on another hub", "hub2", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "a", "non_compliant")}},
			status.Result{Written: 1}, "1 hub1 a none compliant\n1 hub1 b none unknown\n1 hub2 a none non_compliant\n2 hub1 a none compliant"},
		{"one of two differs", "hub1", status.Batch{Compliance: []status.ComplianceEntry{
			compliance("1", "a", "compliant"), compliance("1", "b", "compliant")}},
			status.Result{Written: 1}, "1 hub1 a none compliant\n1 hub1 b none compliant\n1 hub2 a none non_compliant\n2 hub1 a none compliant"},
		{"an error alone differs", "hub2", status.Batch{Compliance: []status.ComplianceEntry{
			{PolicyID: id("1"), Cluster: "a", Compliance: "non_compliant", Error: "disconnected"}}},
			status.Result{Written: 1}, "1 hub1 a none compliant\n1 hub1 b none compliant\n1 hub2 a disconnected non_compliant\n2 hub1 a none compliant"},
		{"a complete policy loses a cluster, another hub's rows stay", "hub1", status.Batch{CompletePolicies: []string{id("1")},
			Compliance: []status.ComplianceEntry{compliance("1", "c", "compliant"), compliance("1", "b", "compliant")}},
			status.Result{Written: 1, Removed: 1}, "1 hub1 b none compliant\n1 hub1 c none compliant\n1 hub2 a disconnected non_compliant\n2 hub1 a none compliant"},
		{"a policy goes", "hub1", status.Batch{CompletePolicies: []string{id("1")}},
			status.Result{Removed: 2}, "1 hub2 a disconnected non_compliant\n2 hub1 a none compliant"},
		{"a bad entry does not keep the others", "hub1", status.Batch{Compliance: []status.ComplianceEntry{
			compliance("2", strings.Repeat("x", 64), "compliant"), compliance("2", "a", "unknown")}},
			status.Result{Written: 1, Rejected: []status.Rejection{{
				Entry:  fmt.Sprintf("Policy %q on cluster %q", id("2"), strings.Repeat("x", 64)),
				Reason: "the cluster's name is longer than 63 characters"}}},
			"1 hub2 a disconnected non_compliant\n2 hub1 a none unknown"},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, apply(t, store, step.hub, step.batch)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.rows, d.rows()); diff != "" {
			t.Errorf("%s, rows -want +got:\n%s", step.name, diff)
		}
		d.silent(step.name, func() {
			if again := apply(t, store, step.hub, step.batch); again.Written+again.Removed != 0 {
				t.Errorf("%s: the second run changed %+v", step.name, again)
			}
		})
	}
}

// silent checks that nothing is written: not a row, not a lock on a row, not a change.
func (d *database) silent(name string, f func()) {
	d.tb.Helper()
	const trace = `SELECT string_agg(c::text || c.xmin || ' ' || c.xmax || c.ctid, ' ' ORDER BY c.ctid) ||
		(SELECT count(*) FROM hub_of_hubs.change_log) FROM status.compliance c`
	before := d.text(trace)
	f()
	if after := d.text(trace); before != after {
		d.tb.Errorf("%s: rows were touched:\n%s\n%s", name, before, after)
	}
}

func TestApplyObjects(t *testing.T) {
	d := newDatabase(t)
	store := d.open(writer)
	cluster := status.ObjectEntry{Kind: status.KindManagedCluster, Payload: []byte(`{"metadata": {"name": "c1"}}`)}
	broken := object(status.KindPlacement, "zero", `, "status": "a\u0000b"`)
	batch := status.Batch{Objects: []status.ObjectEntry{
		object(status.KindPlacement, "p", ""), object(status.KindPlacementRule, "p", ""), object(status.KindPlacementDecision, "p", ""),
		object(status.KindSubscriptionStatus, "p", ""), object(status.KindSubscriptionReport, "p", ""),
		object(status.KindManagedClusterAddOn, "p", ""), cluster, broken, object(status.KindPlacement, "half", `, "status": "\ud800"`),
		object(status.KindPlacement, "large", `, "status": 1e999999`), object(status.KindPlacement, "q", ""),
	}}
	result := apply(t, store, "hub1", batch)
	var rejected []string
	for _, rejection := range result.Rejected {
		rejected = append(rejected, rejection.Entry)
	}
	if diff := cmp.Diff([]string{"Placement ns/half", "Placement ns/large", "Placement ns/zero"}, rejected); diff != "" || result.Written != 8 {
		t.Errorf("written %d, want 8; rejected, -want +got:\n%s", result.Written, diff)
	}
	batch.Objects = slices.DeleteFunc(batch.Objects, func(e status.ObjectEntry) bool {
		return strings.Contains(string(e.Payload), "status")
	})
	if diff := cmp.Diff(status.Result{}, apply(t, store, "hub1", batch)); diff != "" {
		t.Errorf("the second run, -want +got:\n%s", diff)
	}
	inventory, err := store.Present(t.Context(), "hub1")
	if err != nil {
		t.Fatal(err)
	}
	want := []status.ObjectRef{
		{Kind: status.KindPlacementRule, Namespace: "ns", Name: "p"}, {Kind: status.KindPlacement, Namespace: "ns", Name: "p"},
		{Kind: status.KindPlacement, Namespace: "ns", Name: "q"}, {Kind: status.KindPlacementDecision, Namespace: "ns", Name: "p"},
		{Kind: status.KindSubscriptionStatus, Namespace: "ns", Name: "p"}, {Kind: status.KindSubscriptionReport, Namespace: "ns", Name: "p"},
		{Kind: status.KindManagedClusterAddOn, Namespace: "ns", Name: "p"}, {Kind: status.KindManagedCluster, Name: "c1"},
	}
	if diff := cmp.Diff(want, inventory.Objects); diff != "" {
		t.Errorf("present, -want +got:\n%s", diff)
	}
	changed := object(status.KindPlacement, "p", `, "status": {"numberOfSelectedClusters": 1}`)
	cluster.Error = "disconnected"
	result = apply(t, store, "hub1", status.Batch{Objects: []status.ObjectEntry{changed, cluster}, Removed: []status.ObjectRef{want[2], want[5]}})
	if diff := cmp.Diff(status.Result{Written: 2, Removed: 2}, result); diff != "" {
		t.Errorf("one changed, one went, -want +got:\n%s", diff)
	}
	if got := d.text("SELECT payload -> 'status' FROM status.placements"); got != `{"numberOfSelectedClusters": 1}` {
		t.Errorf("the placement's status is %s", got)
	}
	if result := apply(t, store, "hub2", status.Batch{Removed: want}); result.Removed != 0 {
		t.Errorf("another hub's batch removed %d rows", result.Removed)
	}
	if result := apply(t, store, "hub1", status.Batch{Removed: want}); result.Removed != 6 {
		t.Errorf("%d removed, want the 6 that are left", result.Removed)
	}
}

// TestApplyOneAtATime: two reporters that speak for one leaf hub write one after the other; another hub's waits for neither.
func TestApplyOneAtATime(t *testing.T) {
	d := newDatabase(t)
	store := d.open(writer)
	d.exec("BEGIN")
	d.exec(lockHub, "hub1")
	batch := status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "a", "compliant")}}
	done := make(chan error, 1)
	go func() {
		_, err := store.Apply(t.Context(), "hub1", batch)
		done <- err
	}()
	eventually(t, "the second reporter waits", func(context.Context) bool {
		return d.text("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'") == "1"
	})
	apply(t, store, "hub2", batch)
	if rows := d.rows(); rows != "1 hub2 a none compliant" {
		t.Errorf("while the first reporter writes: %s", rows)
	}
	d.exec("COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if rows := d.rows(); rows != "1 hub1 a none compliant\n1 hub2 a none compliant" {
		t.Errorf("after it: %s", rows)
	}
}

func TestHeartbeat(t *testing.T) {
	d := newDatabase(t)
	store := d.open(writer)
	for range 2 {
		if err := store.Heartbeat(t.Context(), "hub1", 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	d.exec("INSERT INTO status.leaf_hub_heartbeats VALUES ('odd', '-infinity')")
	all, err := d.open(reader).Heartbeats(t.Context())
	if err != nil || len(all.Last) != 1 || all.Now.Before(all.Last["hub1"]) {
		t.Errorf("got %+v, %v; want one of hub1, not later than now", all, err)
	}
	if err := store.Heartbeat(t.Context(), strings.Repeat("x", 64), time.Second); err == nil {
		t.Error("a name that does not fit was taken")
	}
}

// TestFollow tests the property of the change feed: a follower that reads only what changed has in the end the content of
// the database, also with concurrent writers.
func TestFollow(t *testing.T) {
	d := newDatabase(t)
	const policies, rounds = 4, 40
	for i := range policies {
		d.insertSpec("policies", fmt.Sprint(i), fmt.Sprintf("p%d", i))
	}
	follower := d.open(reader)
	_, at := look(t, follower, "")
	held := map[status.Key][]status.ComplianceRow{}
	follow := func() {
		changes, err := follower.Changes(t.Context(), at.Next)
		if err != nil {
			t.Fatal(err)
		}
		at = changes
		var keys []status.Key
		for _, change := range changes.Changed {
			keys = append(keys, change.Key)
		}
		snapshot, err := follower.Read(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range snapshot.Objects {
			held[object.Key] = object.Compliance
		}
	}
	store := d.open(writer)
	var group errgroup.Group
	for w := range 3 {
		hub, random := fmt.Sprintf("hub%d", w), rand.New(rand.NewPCG(uint64(w), 7))
		group.Go(func() error {
			for range rounds {
				if _, err := store.Apply(t.Context(), hub, randomBatch(random, policies)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- group.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		follow()
	}
	var keys []status.Key
	for i := range policies {
		keys = append(keys, key(status.KindPolicy, fmt.Sprint(i)))
	}
	whole, err := follower.Read(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range whole.Objects {
		if diff := cmp.Diff(object.Compliance, held[object.Key], anyOrder); diff != "" {
			t.Errorf("%s, -database +follower:\n%s", object.Key.ID, diff)
		}
	}
	if whole.Rows == 0 {
		t.Error("the writers left nothing to compare")
	}
}

func randomBatch(random *rand.Rand, policies int) status.Batch {
	var batch status.Batch
	for range random.IntN(20) {
		batch.Compliance = append(batch.Compliance, compliance(fmt.Sprint(random.IntN(policies)),
			fmt.Sprintf("c%d", random.IntN(10)), []string{"compliant", "non_compliant", "unknown"}[random.IntN(3)]))
	}
	if random.IntN(3) == 0 {
		batch.CompletePolicies = []string{id(fmt.Sprint(random.IntN(policies)))}
	}
	return batch
}
