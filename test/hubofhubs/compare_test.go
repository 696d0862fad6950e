//go:build postgres

package hubofhubs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
)

// converge waits until every known object is what its rows make of it.
func (w *world) converge() {
	w.Helper()
	w.eventually("the objects become what their rows say", func() error { return w.compare(nil) })
}

// compare returns what is not as the rows have it.
func (w *world) compare(stale map[string]time.Time) error {
	snapshot, err := w.store.Read(w.Context(), w.keys)
	if err != nil {
		return err
	}
	for i, key := range w.keys {
		rows, entry := snapshot.Objects[i], entryOf(key.Kind)
		if !rows.Found {
			return fmt.Errorf("%s %s is not found", key.Kind, key.ID)
		}
		want, err := entry.Aggregate(status.Rows{Namespace: rows.Namespace, Name: rows.Name, UID: key.ID,
			Compliance: rows.Compliance, Payloads: rows.Payloads, Stale: stale}, status.Budget)
		if err != nil {
			return err
		}
		if err := w.compareObjects(entry, rows, want); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) compareObjects(entry status.Entry, rows status.Object, want []status.Desired) error {
	for _, desired := range want {
		object, err := w.get(entry.Object, rows.Namespace, desired.Name)
		if err != nil {
			return err
		}
		for _, field := range desired.Fields {
			got, _, err := unstructured.NestedFieldNoCopy(object.Object, field.Path...)
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(asJSON(field.Value), asJSON(got)) {
				return fmt.Errorf("%s %s: %s (-want +got):\n%s", entry.Kind, desired.Name, strings.Join(field.Path, "."),
					cmp.Diff(asJSON(field.Value), asJSON(got)))
			}
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
