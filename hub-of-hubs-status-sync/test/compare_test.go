//go:build postgres

package hubofhubs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// converge waits until every known object is what its rows make of it.
func (w *world) converge() {
	w.Helper()
	w.eventually("the objects become what their rows say", w.compare)
}

// compare returns what is not as the rows have it.
func (w *world) compare() error {
	snapshot, err := w.store.Read(w.Context(), w.keys)
	if err != nil {
		return err
	}
	for i, rows := range snapshot.Objects {
		want, err := desired(rows, snapshot.Heartbeats)
		if err != nil {
			return err
		}
		if err := w.compareObjects(entryOf(w.keys[i].Kind), rows, want); err != nil {
			return err
		}
	}
	return nil
}

// desired is what the rows make of an object. A hub whose writer states an interval
// is stale after 5 minutes.
func desired(rows status.Object, beats status.Heartbeats) ([]status.Desired, error) {
	if !rows.Found {
		return nil, fmt.Errorf("%s %s is not found", rows.Key.Kind, rows.Key.ID)
	}
	stale := map[string]time.Time{}
	for hub := range beats.Interval {
		if last := beats.Last[hub]; beats.Now.Sub(last) > 5*time.Minute {
			stale[hub] = last
		}
	}
	return entryOf(rows.Key.Kind).Aggregate(status.Rows{Namespace: rows.Namespace, Name: rows.Name, UID: rows.Key.ID,
		Compliance: rows.Compliance, Payloads: rows.Payloads, Stale: stale}, status.Budget)
}

func (w *world) compareObjects(entry status.Entry, rows status.Object, want []status.Desired) error {
	for _, desired := range want {
		object, err := w.get(entry.Object, rows.Namespace, desired.Name)
		if err != nil {
			return err
		}
		if err := compareFields(object, desired); err != nil {
			return fmt.Errorf("%s %s: %w", entry.Kind, desired.Name, err)
		}
		if err := compareNotes(object, desired); err != nil && entry.Creates {
			return fmt.Errorf("%s %s: %w", entry.Kind, desired.Name, err)
		}
	}
	if !entry.Creates || entry.Owner.Empty() {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(entry.Object.GroupVersion().WithKind(entry.Object.Kind + "List"))
	if err := w.client.List(w.Context(), list, client.InNamespace(rows.Namespace)); err != nil {
		return err
	}
	owned := 0
	for _, item := range list.Items {
		if owners := item.GetOwnerReferences(); len(owners) == 1 && string(owners[0].UID) == rows.Key.ID {
			owned++
		}
	}
	if owned != len(want) {
		return fmt.Errorf("%s: %d objects instead of %d", entry.Kind, owned, len(want))
	}
	return nil
}

func compareFields(object *unstructured.Unstructured, desired status.Desired) error {
	for _, field := range desired.Fields {
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, field.Path...)
		if err != nil {
			return err
		}
		if asJSON(field.Value) != asJSON(got) {
			return fmt.Errorf("%s (-want +got):\n%s", strings.Join(field.Path, "."), cmp.Diff(asJSON(field.Value), asJSON(got)))
		}
	}
	return nil
}

// compareNotes compares the labels and annotations that are the sync's own.
func compareNotes(object *unstructured.Unstructured, desired status.Desired) error {
	for _, key := range []string{status.AnnotationStale, status.AnnotationSummarised} {
		if want, got := desired.Annotations[key], object.GetAnnotations()[key]; want != got {
			return fmt.Errorf("annotation %s is %q, not %q", key, got, want)
		}
	}
	for key, want := range desired.Labels {
		if got := object.GetLabels()[key]; got != want {
			return fmt.Errorf("label %s is %q, not %q", key, got, want)
		}
	}
	return nil
}

func asJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *world) get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, w.client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
}

// version is an object's resourceVersion, which changes with every write.
func (w *world) version(kind status.Kind, name string) string {
	w.Helper()
	object, err := w.get(entryOf(kind).Object, w.namespace, name)
	if apierrors.IsNotFound(err) {
		return "none"
	}
	w.must(err)
	return object.GetResourceVersion()
}

// dump prints the objects when the test has failed.
func (w *world) dump() {
	if !w.Failed() {
		return
	}
	for _, entry := range status.Entries() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(entry.Object.GroupVersion().WithKind(entry.Object.Kind + "List"))
		if err := w.client.List(context.WithoutCancel(w.Context()), list, client.InNamespace(w.namespace)); err != nil {
			continue
		}
		for _, item := range list.Items {
			text, _ := json.Marshal(item.Object)
			fmt.Fprintf(os.Stderr, "%.2000s\n", text)
		}
	}
}
