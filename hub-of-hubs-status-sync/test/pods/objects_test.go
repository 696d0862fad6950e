//go:build kind

package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written are the kinds that the sync writes on the global hub.
var written = []schema.GroupVersionKind{policies, placementRules, placements, placementDecisions, subscriptionStates, subscriptionReports, addOnSummaries}

// reportedTables are those that the report writes; not the managed clusters', which change by themselves.
var reportedTables = []string{"compliance", "placementrules", "placements", "placementdecisions", "subscription_statuses",
	"subscription_reports", "managedclusteraddons"}

func newObject(gvk schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func (h *hub) create(t *testing.T, gvk schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := newObject(gvk, namespace, name, content)
	must(t, "create "+gvk.Kind+" "+name+" on "+h.name, h.client.Create(t.Context(), object))
	return object
}

// discard deletes an object, also when the test is over.
func (h *hub) discard(t *testing.T, object client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), deadline)
	defer cancel()
	must(t, "delete "+object.GetName()+" on "+h.name, client.IgnoreNotFound(h.client.Delete(ctx, object)))
}

func (h *hub) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	object := newObject(gvk, namespace, name, map[string]any{})
	return object, h.client.Get(ctx, client.ObjectKeyFromObject(object), object)
}

func (h *hub) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	must(t, "patch "+object.GetName()+" on "+h.name, h.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// status writes an object's status, as its controller does.
func (h *hub) status(t *testing.T, object *unstructured.Unstructured, value map[string]any) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"status": value})
	must(t, "encode a status", err)
	must(t, "write the status of "+object.GetName()+" on "+h.name,
		h.client.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, content)))
}

// field checks the value of a field.
func (h *hub) field(gvk schema.GroupVersionKind, namespace, name string, want any, path ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		object, err := h.get(ctx, gvk, namespace, name)
		if err != nil {
			return err
		}
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		if err != nil {
			return err
		}
		if asJSON(got) != asJSON(want) {
			return fmt.Errorf("%s %s has %s instead of %s at %s", gvk.Kind, name, asJSON(got), asJSON(want), strings.Join(path, "."))
		}
		return nil
	}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// known plays the spec sync's part on the global hub: the object's row in spec.*.
func (w *world) known(t *testing.T, table string, object *unstructured.Unstructured) {
	t.Helper()
	payload, err := json.Marshal(object.Object)
	must(t, "encode an object", err)
	must(t, "write the row of "+object.GetName(), w.database.Exec(t.Context(), w.owner,
		"INSERT INTO spec."+table+" (id, payload) VALUES ($1, $2)", string(object.GetUID()), string(payload)))
}

// copyOnLeaf plays its part on the leaf hub: the object with the uid of the global hub's in an annotation.
func (w *world) copyOnLeaf(t *testing.T, global *unstructured.Unstructured, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := newObject(global.GroupVersionKind(), global.GetNamespace(), global.GetName(), content)
	object.SetAnnotations(map[string]string{originAnnotation: string(global.GetUID())})
	must(t, "create "+object.GetName()+" on the leaf hub", w.leaf.client.Create(t.Context(), object))
	return object
}

// state is every object that the sync writes with its resourceVersion, which changes with every write, and every row that
// the report writes with the transaction that wrote it.
func (w *world) state(t *testing.T) string {
	t.Helper()
	return w.objects(t) + w.rows(t)
}

func (w *world) objects(t *testing.T) (text string) {
	t.Helper()
	for _, gvk := range written {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := w.global.client.List(t.Context(), list, client.InNamespace(namespace))
		if gvk == addOnSummaries {
			err = w.global.client.List(t.Context(), list)
		}
		must(t, "list "+gvk.Kind, err)
		if len(list.Items) == 0 {
			t.Fatalf("there is no %s: nothing is shown", gvk.Kind)
		}
		for _, item := range list.Items {
			text += fmt.Sprintf("%s %s %s %s\n", gvk.Kind, item.Name, item.UID, item.ResourceVersion)
		}
	}
	return text
}

func (w *world) rows(t *testing.T) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.owner)
	must(t, "connect to the database", err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, table := range reportedTables {
		var rows string
		must(t, "read the rows of "+table, conn.QueryRow(t.Context(),
			"SELECT coalesce(string_agg(xmin::text || ' ' || md5(t::text), ', ' ORDER BY t::text), '') FROM status."+table+" t").Scan(&rows))
		if rows == "" {
			t.Fatalf("status.%s has no row: nothing is shown", table)
		}
		text += table + ": " + rows + "\n"
	}
	return text
}
