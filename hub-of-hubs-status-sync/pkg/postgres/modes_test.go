//go:build postgres

package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestQueryModes: behind a pooler no statement can be prepared. The parameters of pgx v5 and v4 that avoid it change no result.
func TestQueryModes(t *testing.T) {
	for _, mode := range []string{"default_query_exec_mode=cache_statement", "default_query_exec_mode=cache_describe",
		"default_query_exec_mode=describe_exec", "default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol",
		"statement_cache_mode=describe", "statement_cache_capacity=0", "prefer_simple_protocol=true"} {
		t.Run(mode, func(t *testing.T) {
			d := newDatabase(t)
			d.world()
			store := openURL(t, Options{URL: d.url + "&" + mode})
			if err := store.CheckSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, at := look(t, store, "")
			batch := status.Batch{
				CompletePolicies: []string{id("1")},
				Compliance:       []status.ComplianceEntry{compliance("1", "c'1\\", "unknown"), compliance("1", "c2", "compliant")},
				Objects: []status.ObjectEntry{object(status.KindPlacement, "place", `, "status": {"x": "a'b\\c"}`),
					{Kind: status.KindManagedCluster, Payload: []byte(`{"metadata": {"name": "c1"}}`)}},
				Removed: []status.ObjectRef{{Kind: status.KindPlacementRule, Namespace: "ns", Name: "rule"}},
			}
			if diff := cmp.Diff(status.Result{Written: 4, Removed: 2}, apply(t, store, "hub1", batch)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if err := store.Heartbeat(t.Context(), "hub1", 10*time.Second); err != nil {
				t.Error(err)
			}
			got, _ := look(t, store, at.Next)
			if diff := cmp.Diff([]string{"Placement 3", "PlacementRule 2", "Policy 1"}, got); diff != "" {
				t.Errorf("changed, -want +got:\n%s", diff)
			}
			keys, err := store.Scan(t.Context(), zeroKey, 100)
			if err != nil {
				t.Fatal(err)
			}
			snapshot, err := store.Read(t.Context(), keys)
			if err != nil || snapshot.Rows != 8 || snapshot.Heartbeats.Interval["hub1"] != 10*time.Second {
				t.Errorf("read %d rows, heartbeats %v, %v; want 8 and one of hub1 each 10s", snapshot.Rows, snapshot.Heartbeats, err)
			}
			if _, err := store.KeysOfHub(t.Context(), "hub1"); err != nil {
				t.Error(err)
			}
			if _, err := store.Present(t.Context(), "hub1"); err != nil {
				t.Error(err)
			}
		})
	}
}
