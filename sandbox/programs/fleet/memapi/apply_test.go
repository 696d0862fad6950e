package memapi

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestServerSideApply(t *testing.T) {
	applied := func(data map[string]any) *unstructured.Unstructured {
		return object("v1", "ConfigMap", "a", map[string]any{"data": data})
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.dynamic.Resource(configMaps).Namespace("default")
		data := func(obj *unstructured.Unstructured, err error) string {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.kube.CoreV1().ConfigMaps("default").Get(ctx, obj.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return dataText(m)
		}
		one, two := metav1.ApplyOptions{FieldManager: "one"}, metav1.ApplyOptions{FieldManager: "two"}
		if got := data(maps.Apply(ctx, "a", applied(map[string]any{"a": "1", "b": "1"}), one)); got != "a=1 b=1" {
			t.Errorf("an object that was not there: %s", got)
		}
		if got := data(maps.Apply(ctx, "a", applied(map[string]any{"c": "1"}), two)); got != "a=1 b=1 c=1" {
			t.Errorf("another manager's field: %s, want it added", got)
		}
		if _, err := maps.Apply(ctx, "a", applied(map[string]any{"a": "2"}), two); !apierrors.IsConflict(err) {
			t.Errorf("a field of another manager: %v, want a conflict", err)
		}
		if got := data(maps.Apply(ctx, "a", applied(map[string]any{"a": "1"}), one)); got != "a=1 c=1" {
			t.Errorf("a field that is not applied again: %s, want it removed", got)
		}
		two.Force = true
		if got := data(maps.Apply(ctx, "a", applied(map[string]any{"a": "2"}), two)); got != "a=2" {
			t.Errorf("by force: %s, want the field changed, and c removed, which was not applied again", got)
		}
		patch := []byte(`{"data":{"a":"3"}}`)
		if got := data(maps.Patch(ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "three"})); got != "a=3" {
			t.Errorf("a patch: %s", got)
		}
		if _, err := maps.Apply(ctx, "a", applied(map[string]any{"a": "1"}), metav1.ApplyOptions{FieldManager: "one"}); !apierrors.IsConflict(err) {
			t.Errorf("a field that a patch has changed: %v, want a conflict", err)
		}
		before, err := maps.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if fields := before.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "three" || fields[0].Operation != metav1.ManagedFieldsOperationUpdate {
			t.Errorf("managers after the patch: %v, want that of the patch", fields)
		}
		again, err := maps.Apply(ctx, "a", applied(map[string]any{"a": "3"}), two)
		if err != nil {
			t.Fatal(err)
		}
		if third, err := maps.Apply(ctx, "a", applied(map[string]any{"a": "3"}), two); err != nil || third.GetResourceVersion() != again.GetResourceVersion() {
			t.Errorf("applied again: version %s after %s and %s, %v, want no change", third.GetResourceVersion(), again.GetResourceVersion(), before.GetResourceVersion(), err)
		}
	})
}

func TestServerSideApplyOfKinds(t *testing.T) {
	containers := func(image string) map[string]any {
		return map[string]any{"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "d"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "d"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": image, "image": image}}}}}}
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		sets := c.dynamic.Resource(deployments).Namespace("default")
		for _, manager := range []string{"one", "two"} {
			if _, err := sets.Apply(ctx, "d", object("apps/v1", "Deployment", "d", containers(manager)), metav1.ApplyOptions{FieldManager: manager}); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.kube.AppsV1().Deployments("default").Get(ctx, "d", metav1.GetOptions{})
		if err != nil || len(d.Spec.Template.Spec.Containers) != 2 {
			t.Errorf("containers of two managers: %v, %v, want both: the list is keyed by name", d.Spec.Template.Spec.Containers, err)
		}
		status := object("apps/v1", "Deployment", "d", map[string]any{"status": map[string]any{"collisionCount": int64(7)}})
		if _, err := sets.ApplyStatus(ctx, "d", status, metav1.ApplyOptions{FieldManager: "status"}); err != nil {
			t.Fatal(err)
		}
		if _, err := sets.ApplyStatus(ctx, "none", status, metav1.ApplyOptions{FieldManager: "status"}); err == nil {
			t.Error("the status of an object that is not there was applied")
		}

		works := c.dynamic.Resource(schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "appliedmanifestworks"})
		spec := map[string]any{"spec": map[string]any{"hubHash": "h", "agentID": "a"}}
		w, err := works.Apply(ctx, "w", object("work.open-cluster-management.io/v1", "AppliedManifestWork", "w", spec), metav1.ApplyOptions{FieldManager: "one"})
		if err != nil {
			t.Fatal(err)
		}
		if hash, _, _ := unstructured.NestedString(w.Object, "spec", "hubHash"); hash != "h" || w.GetGeneration() != 1 {
			t.Errorf("a custom resource: %v", w.Object)
		}
	})
}
