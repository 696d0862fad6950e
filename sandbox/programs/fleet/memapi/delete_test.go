package memapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// object returns an object for the dynamic client.
func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		obj.Object[key] = value
	}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	return obj
}

func TestFinalizers(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		kept := configMap("kept", nil)
		kept.Finalizers = []string{"example.com/one", "example.com/two"}
		if _, err := maps.Create(ctx, kept, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, "kept", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := maps.Get(ctx, "kept", metav1.GetOptions{})
		if err != nil || got.DeletionTimestamp == nil {
			t.Fatalf("a deleted object with finalizers: %v, %v, want a deletionTimestamp", got, err)
		}
		version := got.ResourceVersion
		if err := maps.Delete(ctx, "kept", metav1.DeleteOptions{}); err != nil {
			t.Errorf("second delete: %v", err)
		}
		got, err = maps.Patch(ctx, "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/two"]}}`), metav1.PatchOptions{})
		if err != nil || got.DeletionTimestamp == nil || got.ResourceVersion == version {
			t.Errorf("after the first finalizer: %+v, %v", got.ObjectMeta, err)
		}
		if _, err := maps.Patch(ctx, "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Get(ctx, "kept", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after the last finalizer: %v, want not found", err)
		}
	})
}

// owned creates a ConfigMap that owners own.
func owned(t *testing.T, c *cluster, name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	m := configMap(name, nil)
	for _, owner := range owners {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID})
	}
	created, err := c.kube.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func configMapNames(t *testing.T, c *cluster, o metav1.ListOptions) string {
	t.Helper()
	list, err := c.kube.CoreV1().ConfigMaps("default").List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range list.Items {
		if m.Name != "kube-root-ca.crt" {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestOwners(t *testing.T) {
	rows := []struct {
		name   string
		delete []string
		policy metav1.DeletionPropagation
		want   string
	}{
		{name: "dependents go with their last owner, and theirs with them", delete: []string{"one"}, want: "both two"},
		{name: "a dependent of two owners goes when both are gone", delete: []string{"one", "two"}, want: ""},
		{name: "in the foreground: the same", delete: []string{"one"}, policy: metav1.DeletePropagationForeground, want: "both two"},
		{name: "orphans stay", delete: []string{"one"}, policy: metav1.DeletePropagationOrphan, want: "both child grandchild two"},
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		maps := c.kube.CoreV1().ConfigMaps("default")
		for _, row := range rows {
			one, two := owned(t, c, "one"), owned(t, c, "two")
			child := owned(t, c, "child", one)
			owned(t, c, "grandchild", child)
			owned(t, c, "both", one, two)
			for _, name := range row.delete {
				o := metav1.DeleteOptions{}
				if row.policy != "" {
					o.PropagationPolicy = &row.policy
				}
				if err := maps.Delete(t.Context(), name, o); err != nil {
					t.Fatal(err)
				}
			}
			if got := configMapNames(t, c, metav1.ListOptions{}); got != row.want {
				t.Errorf("%s: left %q, want %q", row.name, got, row.want)
			}
			if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		owned(t, c, "stray", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "gone"}})
		if got := configMapNames(t, c, metav1.ListOptions{}); got != "" {
			t.Errorf("an object of an owner that does not exist: %q, want it collected", got)
		}
		late := owned(t, c, "late")
		late.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"}}
		if _, err := maps.Update(t.Context(), late, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := configMapNames(t, c, metav1.ListOptions{}); got != "" {
			t.Errorf("an object that gets an owner that does not exist: %q, want it collected", got)
		}
	})
}

func TestForegroundDeletionWaits(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		child := owned(t, c, "child", owned(t, c, "owner"))
		child.Finalizers = []string{"example.com/keep"}
		if _, err := maps.Update(ctx, child, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		foreground := metav1.DeletePropagationForeground
		if err := maps.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"owner", "child"} {
			if m, err := maps.Get(ctx, name, metav1.GetOptions{}); err != nil || m.DeletionTimestamp == nil {
				t.Errorf("%s: %v, want it there and being deleted", name, err)
			}
		}
		if _, err := maps.Patch(ctx, "child", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := configMapNames(t, c, metav1.ListOptions{}); got != "" {
			t.Errorf("when the dependent is gone: %q, want the owner gone", got)
		}
	})
}

func TestDeleteNamespace(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		namespaces, maps := c.kube.CoreV1().Namespaces(), c.kube.CoreV1().ConfigMaps("gone")
		if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/keep"}}}
		if _, err := maps.Create(ctx, kept, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := namespaces.Delete(ctx, "gone", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if n, err := namespaces.Get(ctx, "gone", metav1.GetOptions{}); err != nil || n.Status.Phase != corev1.NamespaceTerminating {
			t.Errorf("a namespace with content: %+v, %v, want it terminating", n.Status, err)
		}
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			t.Errorf("create in a namespace that is being deleted: %v, want forbidden", err)
		}
		if _, err := maps.Patch(ctx, "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := namespaces.Get(ctx, "gone", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("an emptied namespace: %v, want not found", err)
		}
		if list, err := maps.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("content of a deleted namespace: %+v, %v", list.Items, err)
		}
	})
}

func TestSelectors(t *testing.T) {
	rows := []struct {
		name string
		o    metav1.ListOptions
		want string
	}{
		{"by a label", metav1.ListOptions{LabelSelector: "color=red"}, "a"},
		{"by a label that is not there", metav1.ListOptions{LabelSelector: "!color"}, "c"},
		{"by the name", metav1.ListOptions{FieldSelector: "metadata.name=b"}, "b"},
		{"by another name", metav1.ListOptions{FieldSelector: "metadata.name!=b"}, "a c"},
		{"by namespace and name", metav1.ListOptions{FieldSelector: "metadata.namespace=default,metadata.name=c"}, "c"},
		{"by a field", metav1.ListOptions{FieldSelector: "data.k=1"}, "b"},
		{"by label and name", metav1.ListOptions{LabelSelector: "color", FieldSelector: "metadata.name=c"}, ""},
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		for name, labels := range map[string]map[string]string{"a": {"color": "red"}, "b": {"color": "blue"}, "c": nil} {
			m := configMap(name, nil)
			m.Labels = labels
			if name == "b" {
				m.Data = map[string]string{"k": "1"}
			}
			if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range rows {
			if got := configMapNames(t, c, row.o); got != row.want {
				t.Errorf("%s: %q, want %q", row.name, got, row.want)
			}
		}
		if _, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "=="}); !apierrors.IsBadRequest(err) {
			t.Errorf("a selector that is none: %v, want bad request", err)
		}
	})
}

func crd() *unstructured.Unstructured {
	version := func(name string, storage bool) any {
		return map[string]any{"name": name, "served": true, "storage": storage, "subresources": map[string]any{"status": map[string]any{}}}
	}
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.example.com", map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"},
		"versions": []any{version("v1", true), version("v1beta1", false)},
	}})
}

func TestCustomResources(t *testing.T) {
	gadgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		if _, err := c.dynamic.Resource(gadgets).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("list before the definition: %v, want not found", err)
		}
		created, err := c.dynamic.Resource(crds).Create(ctx, crd(), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if conditions, _, _ := unstructured.NestedSlice(created.Object, "status", "conditions"); len(conditions) != 2 {
			t.Errorf("conditions of the definition: %v, want Established and NamesAccepted", conditions)
		}
		resources, err := c.kube.Discovery().ServerResourcesForGroupVersion("example.com/v1beta1")
		if err != nil || len(resources.APIResources) != 2 || !resources.APIResources[0].Namespaced {
			t.Errorf("discovery: %+v, %v, want the resource and its status", resources, err)
		}
		g, err := c.dynamic.Resource(gadgets).Namespace("default").Create(ctx,
			object("example.com/v1", "Gadget", "g", map[string]any{"spec": map[string]any{"size": int64(1)}}), metav1.CreateOptions{})
		if err != nil || g.GetGeneration() != 1 {
			t.Fatalf("create of a custom resource: %v, %v", g, err)
		}
		old, err := c.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "gadgets"}).
			Namespace("default").Get(ctx, "g", metav1.GetOptions{})
		if err != nil || old.GetAPIVersion() != "example.com/v1beta1" {
			t.Errorf("in the other version: %v, %v", old, err)
		}
		if err := c.dynamic.Resource(crds).Delete(ctx, "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.dynamic.Resource(gadgets).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("list after the definition: %v, want not found", err)
		}
		if _, err := c.dynamic.Resource(crds).Create(ctx, crd(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if list, err := c.dynamic.Resource(gadgets).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("list after another definition: %v, %v, want none", list, err)
		}
	})
}

func TestDiscovery(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		groups, lists, err := c.kube.Discovery().ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == "apps" && g.PreferredVersion.Version == "v1" }) {
			t.Errorf("groups: %v, want apps", groups)
		}
		resources := 0
		for _, list := range lists {
			resources += len(list.APIResources)
		}
		if resources < len(builtins) {
			t.Errorf("%d resources, want at least the %d built in", resources, len(builtins))
		}
		if v, err := c.kube.Discovery().ServerVersion(); err != nil || v.GitVersion != kubernetesVersion {
			t.Errorf("version: %v, %v, want %s", v, err, kubernetesVersion)
		}
		for _, path := range []string{"/livez", "/readyz", "/healthz"} {
			body, err := c.kube.Discovery().RESTClient().Get().AbsPath(path).DoRaw(context.Background())
			if err != nil || string(body) != "ok" {
				t.Errorf("%s: %s, %v", path, body, err)
			}
		}
		if _, err := c.kube.Discovery().ServerResourcesForGroupVersion("example.com/v1"); !apierrors.IsNotFound(err) {
			t.Errorf("a group that is not served: %v, want not found", err)
		}
		if node, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(node.Items) != 1 || node.Items[0].Status.Capacity.Cpu().Value() == 0 {
			t.Errorf("nodes: %v, %v, want one with a capacity", node, err)
		}
	})
}
