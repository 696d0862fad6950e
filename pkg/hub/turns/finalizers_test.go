package turns

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// TestAddFinalizers: which updates of the add-on in the cache, with the finalizers
// before, are sent as a patch.
func TestAddFinalizers(t *testing.T) {
	tests := []struct {
		name, reason  string
		before, after []string
		change        func(*addonv1beta1.ManagedClusterAddOn)
		want          string
	}{
		{name: "the first one", after: []string{"a"},
			want: `[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["a"]}]`},
		{name: "one more", before: []string{"a"}, after: []string{"a", "b"},
			want: `[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"test","path":"/metadata/finalizers","value":["a"]},{"op":"add","path":"/metadata/finalizers","value":["a","b"]}]`},
		{name: "and the status", reason: "an update does not write it", after: []string{"a"},
			change: func(addOn *addonv1beta1.ManagedClusterAddOn) { addOn.Status.Namespace = "there" },
			want:   `[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["a"]}]`},
		{name: "removed", reason: "the agent may have reported since", before: []string{"a"}},
		{name: "replaced", before: []string{"a"}, after: []string{"b", "c"}},
		{name: "unchanged", before: []string{"a"}, after: []string{"a"}},
		{name: "and a label", after: []string{"a"}, change: func(addOn *addonv1beta1.ManagedClusterAddOn) { addOn.Labels = map[string]string{"a": "b"} }},
		{name: "of a former add-on", after: []string{"a"}, change: func(addOn *addonv1beta1.ManagedClusterAddOn) { addOn.UID = "former" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := addOn("10"), addOn("9")
			before.Finalizers, after.Finalizers = test.before, test.after
			if test.change != nil {
				test.change(after)
			}
			patch, _ := addFinalizers(before, after)
			if diff := cmp.Diff(test.want, string(patch)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestUpdateAddsFinalizer: a write of the status in between is no conflict, and is kept.
// Where the patch is refused, the update is sent.
func TestUpdateAddsFinalizer(t *testing.T) {
	resource := schema.GroupResource{Resource: "managedclusteraddons"}
	for name, refusal := range map[string]error{
		"patched": nil, "the finalizers have changed": apierrors.NewInvalid(schema.GroupKind{}, "helloworld", nil),
		"the RBAC is of a former version": apierrors.NewForbidden(resource, "helloworld", errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			turns, hub, client := batchWorld(t)
			live := addOn("11")
			live.Status.Namespace = "there"
			if err := hub.Tracker().Update(schema.GroupVersion(addonv1beta1.GroupVersion).WithResource("managedclusteraddons"), live, "cluster1"); err != nil {
				t.Fatal(err)
			}
			hub.PrependReactor("patch", "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) { return refusal != nil, nil, refusal })
			wanted := addOn("10")
			wanted.Finalizers = []string{"a"}
			written, err := client.Update(t.Context(), wanted, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a"}, written.Finalizers); diff != "" || !turns.Confirmed("cluster1", "uid") {
				t.Errorf("recorded: %t; finalizers (-want +got):\n%s", turns.Confirmed("cluster1", "uid"), diff)
			}
			if patched := written.Status.Namespace == "there"; patched != (refusal == nil) {
				t.Errorf("the status of the hub was kept: %t", patched)
			}
		})
	}
}
