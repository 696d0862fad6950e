//go:build postgres

package hubofhubs

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestTruncate: after a TRUNCATE, which leaves no row to say what it was about, every
// status is cleared, also that of an object to which nothing else leads.
func TestTruncate(t *testing.T) {
	w := newWorld(t)
	w.oneOfEach()
	w.sync()
	w.converge()
	w.field(status.KindAddOnSummary, "", "helloworld", 1, "status", "clusters")
	w.exec(`TRUNCATE status.compliance, status.placementrules, status.placements, status.placementdecisions,
status.subscription_statuses, status.subscription_reports, status.managedclusteraddons`)
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", nil, "status", "status")
	w.field(status.KindAddOnSummary, "", "helloworld", 0, "status", "clusters")
}

// TestGoesWithPlacement: an object that has the Placement as owner, but not as
// controller, belongs to another writer. An object of the original sync has the
// Placement as controller and is taken over: updated, or deleted.
func TestGoesWithPlacement(t *testing.T) {
	w := newWorld(t)
	entry := entryOf(status.KindPlacementDecision)
	id := w.known(entry.Owner, "placements", "placement", map[string]any{}, status.KindPlacementDecision)
	made := func(name string, controller *bool) string {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(entry.Object)
		object.SetNamespace(w.namespace)
		object.SetName(name)
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: entry.Owner.GroupVersion().String(), Kind: entry.Owner.Kind,
			Name: "placement", UID: types.UID(id), Controller: controller}})
		w.must(w.client.Create(t.Context(), object))
		return object.GetResourceVersion()
	}
	theirs := made("theirs", nil)
	made("named-by-chance", ptr.To(true))
	w.row("placementdecisions", "hub1", "whatever", someID+"1", decisionObject("placement", "a"))
	w.sync()
	w.eventually("it is made anew", func() error {
		_, err := w.get(entry.Object, w.namespace, "placement-decision-1")
		return err
	})
	w.eventually("the old one goes", func() error {
		if got := w.version(status.KindPlacementDecision, "named-by-chance"); got != "none" {
			return errors.New("it is there")
		}
		return nil
	})
	if got := w.version(status.KindPlacementDecision, "theirs"); got != theirs {
		t.Errorf("another writer's object was written or deleted: version %s", got)
	}
}
