//go:build postgres

package hubofhubs

import (
	"fmt"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// events are the notes of the events about an object, each as often as it was said.
func (w *world) events(name string) (notes []string) {
	w.Helper()
	list := &eventsv1.EventList{}
	w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
	for _, event := range list.Items {
		if event.Regarding.Name != name {
			continue
		}
		if event.Regarding.Kind != "PlacementRule" || event.Reason != "StatusIncomplete" || event.Type != "Warning" ||
			event.ReportingController != "hub-of-hubs-status-sync" {
			w.Errorf("an unknown event: %+v", event)
		}
		notes = append(notes, event.Note)
		if event.Series != nil {
			for range event.Series.Count - 1 {
				notes = append(notes, event.Note)
			}
		}
	}
	return notes
}

// TestEvents: a PlacementRule has no field to say that a leaf hub is stale, or that
// its list is short: an event says so, once, and once more at most when the sync
// starts anew.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	gvk := entryOf(status.KindPlacementRule).Object
	stale := w.known(gvk, "placementrules", "stale", map[string]any{}, status.KindPlacementRule)
	short := w.known(gvk, "placementrules", "short", map[string]any{}, status.KindPlacementRule)
	well := w.known(gvk, "placementrules", "well", map[string]any{}, status.KindPlacementRule)
	w.beat("hub1", time.Hour)
	w.beat("hub2", 0)
	w.row("placementrules", "hub1", "stale", stale, map[string]any{"status": map[string]any{}})
	w.row("placementrules", "hub2", "well", well, map[string]any{"status": map[string]any{}})
	change := func(n int) {
		w.exec("UPDATE status.placementrules SET payload = jsonb_set(payload, '{status,decisions}', $1) WHERE payload #>> '{metadata,name}' <> 'short'",
			asJSON(decisionsOfRule(many("a", n)...)))
	}
	w.row("placementrules", "hub2", "short", short, map[string]any{"status": map[string]any{
		"decisions": decisionsOfRule(many("a-cluster-with-quite-a-long-name-as-some-have-it", 12000)...)}})
	change(1)
	first := w.sync()
	w.converge()
	says := func(times int, notes map[string]string) error {
		for name, want := range notes {
			got := w.events(name)
			if len(got) < 1 || len(got) > times {
				return fmt.Errorf("%d events about %s: %v", len(got), name, got)
			}
			for _, note := range got {
				if note != want {
					return fmt.Errorf("an event about %s says %q", name, note)
				}
			}
		}
		return nil
	}
	listed, err := w.get(gvk, w.namespace, "short")
	w.must(err)
	list, _, err := unstructured.NestedSlice(listed.Object, "status", "decisions")
	w.must(err)
	want := map[string]string{"stale": "no heartbeat of hub1", "short": fmt.Sprintf("%d of 12000 decisions listed", len(list))}
	w.eventually("the events", func() error { return says(1, want) })
	for n := range 5 {
		change(2 + n)
		w.converge()
	}
	w.must(first.stop())
	w.sync()
	for n := range 5 {
		change(10 + n)
		w.converge()
	}
	// Long enough for an event too many.
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if err := says(2, want); err != nil {
			t.Fatal(err)
		}
		if notes := w.events("well"); len(notes) > 0 {
			t.Fatalf("events about what is well: %v", notes)
		}
	}
}
