//go:build postgres

package hubofhubs

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestOriginalHeartbeats: the transport bridge beats once an hour, in UTC, whatever the database's time zone. With its last
// heartbeat 59 minutes old nothing is stale, not even of a leaf hub that this project's report wrote for before.
func TestOriginalHeartbeats(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	w.migrate()
	ids := w.oneOfEach()
	name, err := w.answer("SELECT quote_ident(current_database())")
	w.must(err)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		w.exec("ALTER DATABASE " + name + " SET timezone = '" + zone + "'")
		bridge := w.bridge() // a new session has the zone
		for _, hub := range []string{"hub1", "hub2"} {
			w.beat(hub, 2*time.Hour) // and of another hub just now
			w.must(bridge.Beat(t.Context(), hub))
		}
		w.exec("UPDATE status.leaf_hub_heartbeats SET last_timestamp = last_timestamp - interval '59 minutes' WHERE leaf_hub_name <> 'another'")
		sync := w.sync()
		for _, compliance := range []string{"non_compliant", "compliant"} {
			for _, hub := range []string{"hub1", "hub2"} {
				w.must(bridge.Send(t.Context(), original.Policies{LeafHub: hub,
					UpdatePolicies: []original.Cluster{{Policy: ids["policy"], Compliance: compliance}}}))
			}
			want := map[string]string{"non_compliant": "NonCompliant", "compliant": "Compliant"}[compliance]
			w.field(status.KindPolicy, w.namespace, "policy", want, "status", "compliant")
		}
		w.field(status.KindSubscriptionReport, w.namespace, "subscription", "2", "summary", "deployed")
		w.notStale(entryOf(status.KindPlacement).Object, "placement")
		w.notStale(entryOf(status.KindPlacementDecision).Object, "placement-decision-1")
		w.notStale(entryOf(status.KindSubscriptionStatus).Object, "subscription")
		for _, hub := range []string{"hub1", "hub2"} {
			if got := w.metric("leaf_hub_stale", map[string]string{"leaf_hub": hub}); got != 0 {
				t.Errorf("the gauge leaf_hub_stale of %s is %v, want 0", hub, got)
			}
			age := time.Duration(w.metric("leaf_hub_heartbeat_age_seconds", map[string]string{"leaf_hub": hub})) * time.Second
			if age < 59*time.Minute || age > 59*time.Minute+patience {
				t.Errorf("the gauge leaf_hub_heartbeat_age_seconds of %s is %s, want 59 minutes", hub, age)
			}
		}
		w.must(sync.stop())
		t.Logf("%s: nothing is stale", zone)
	}
}

// notStale waits until an object exists, and fails the test if it shows a stale leaf hub.
func (w *world) notStale(gvk schema.GroupVersionKind, name string) {
	w.Helper()
	w.eventually(gvk.Kind+" "+name+" has no stale leaf hubs", func() error {
		object, err := w.get(gvk, w.namespace, name)
		if got := object.GetAnnotations()[status.AnnotationStale]; err == nil && got != "" {
			w.Fatalf("%s %s has stale leaf hubs %s, want none", gvk.Kind, name, got)
		}
		return err
	})
}
