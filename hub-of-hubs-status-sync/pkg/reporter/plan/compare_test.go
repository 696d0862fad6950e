package plan

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func TestGone(t *testing.T) {
	rule := func(name string) status.ObjectRef {
		return status.ObjectRef{Kind: status.KindPlacementRule, Namespace: "ns", Name: name}
	}
	unread := status.ObjectRef{Kind: status.KindPlacement, Namespace: "ns", Name: "p"}
	inventory := status.Inventory{Policies: []string{"here", "gone"}, Objects: []status.ObjectRef{rule("here"), rule("gone"), unread}}
	present := map[status.ObjectRef]string{
		{Kind: status.KindPolicy, Namespace: "ns", Name: "p"}: "here",
		rule("here"): "here",
	}
	for _, c := range []struct {
		name  string
		which map[status.Kind]bool
		want  []status.Batch
	}{
		{"everything of the read kinds goes that is not there", map[status.Kind]bool{status.KindPolicy: true, status.KindPlacementRule: true},
			[]status.Batch{{CompletePolicies: []string{"gone"}}, {Removed: []status.ObjectRef{rule("gone")}}}},
		{"nothing goes of what was not read", map[status.Kind]bool{status.KindPolicy: false}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Gone(inventory, present, c.which)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestGoneIsBounded: a leaf hub that has lost everything removes it in many
// transactions.
func TestGoneIsBounded(t *testing.T) {
	var inventory status.Inventory
	for i := range 2*MaxObjects + 1 {
		inventory.Policies = append(inventory.Policies, fmt.Sprint(i))
		inventory.Objects = append(inventory.Objects, status.ObjectRef{Kind: status.KindPlacement, Namespace: "ns", Name: fmt.Sprint(i)})
	}
	var whole status.Inventory
	for _, batch := range Gone(inventory, nil, map[status.Kind]bool{status.KindPolicy: true, status.KindPlacement: true}) {
		if len(batch.CompletePolicies) > maxGonePolicies || len(batch.Removed) > MaxObjects {
			t.Errorf("a batch removes %d policies and %d objects", len(batch.CompletePolicies), len(batch.Removed))
		}
		whole.Policies, whole.Objects = append(whole.Policies, batch.CompletePolicies...), append(whole.Objects, batch.Removed...)
	}
	if diff := cmp.Diff(inventory, whole); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

func TestDueKinds(t *testing.T) {
	all := func(kinds ...status.Kind) map[status.Kind]bool {
		m := map[status.Kind]bool{}
		for _, kind := range kinds {
			m[kind] = true
		}
		return m
	}
	const a, b = status.KindPolicy, status.KindPlacement
	for _, c := range []struct {
		name                 string
		read, compared, want map[status.Kind]bool
		all                  bool
	}{
		{"nothing is read", nil, nil, all(), true},
		{"everything in its time, of what is read", all(a, b), all(a), all(a, b), true},
		{"not before, but for a kind that is new", all(a, b), all(a), all(b), false},
		{"nothing is new", all(a, b), all(a, b), all(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, DueKinds(c.read, c.compared, c.all)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUncompared(t *testing.T) {
	known := map[status.Kind]bool{}
	for kind := range Kinds {
		known[kind] = true
	}
	if got := Uncompared(known, nil); got != nil {
		t.Errorf("all were compared but %v", got)
	}
	if got := Uncompared(nil, known); got != nil {
		t.Errorf("none is served but %v", got)
	}
	some := maps.Clone(known)
	delete(some, status.KindPolicy)
	delete(some, status.KindManagedCluster)
	want := []status.Kind{status.KindManagedCluster, status.KindPolicy}
	if diff := cmp.Diff(want, Uncompared(some, map[status.Kind]bool{status.KindPolicy: false})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNextCompare(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name                       string
		began, ended, resync, want time.Duration
	}{
		{"the first is followed by one when no former leader is left", 0, time.Second, time.Hour, FormerLeader},
		{"that one by the next resync", FormerLeader, FormerLeader + time.Second, time.Hour, FormerLeader + time.Second + time.Hour},
		{"a first one that takes long is followed at once: a former leader was there at its start", 0, 2 * FormerLeader, time.Hour, FormerLeader},
		{"a resync that comes sooner is soon enough", 0, time.Second, time.Minute, time.Minute + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := NextCompare(start, start.Add(c.began), start.Add(c.ended), c.resync)
			if diff := cmp.Diff(start.Add(c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
