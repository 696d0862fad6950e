package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// TestDistribution: the right to write ConfigMaps in a cluster's namespace is there while
// distribution is on, and a pass that changes nothing sends no request.
func TestDistribution(t *testing.T) {
	const namespace = "open-cluster-management"
	addOn := hubobjects.AddOn("cluster1", "")
	wanted := identity.ReplicaSetRoleBinding(addOn, namespace)
	changed := func(change func(*rbacv1.RoleBinding)) *rbacv1.RoleBinding {
		binding := wanted.DeepCopy()
		change(binding)
		return binding
	}
	for _, test := range []struct {
		name, reason string
		on           bool
		before       *rbacv1.RoleBinding
		requests     []string
	}{
		{name: "off, none", reason: "an idle pass makes no request"},
		{name: "off, one", before: wanted, requests: []string{"delete rolebindings"}, reason: "distribution was on before"},
		{name: "on, none", on: true, requests: []string{"create rolebindings"}, reason: "the add-on was enabled"},
		{name: "on, one", on: true, before: wanted, reason: "an idle pass makes no request"},
		{name: "on, of another namespace", on: true, requests: []string{"get rolebindings", "update rolebindings", "create events"},
			before: identity.ReplicaSetRoleBinding(addOn, "former"), reason: "the controllers were moved"},
		{name: "on, to another role", on: true, before: changed(func(b *rbacv1.RoleBinding) { b.RoleRef.Name = "admin" }),
			requests: []string{"create rolebindings", "delete rolebindings", "get rolebindings", "create rolebindings", "create events"},
			reason:   "a roleRef cannot be changed, and there was never a Role of that name to delete"},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, cache := fake.NewClientset(), newCache(t)
			if test.before != nil {
				client, cache.ReplicaSetRoleBindings = fake.NewClientset(test.before), bindings(test.before)
			}
			added := New("image", client, cache)
			if test.on {
				added.WithDistribution(namespace)
			}
			if err := added.configureDistribution(t.Context(), addOn); err != nil {
				t.Fatal(err)
			}
			var requests []string
			for _, action := range client.Actions() {
				requests = append(requests, action.GetVerb()+" "+action.GetResource().Resource)
			}
			if diff := cmp.Diff(test.requests, requests); diff != "" {
				t.Errorf("%s: requests differ (-want +got):\n%s", test.reason, diff)
			}
			bindings, err := client.RbacV1().RoleBindings("cluster1").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !test.on && len(bindings.Items) > 0:
				t.Errorf("%s: there is %v", test.reason, bindings.Items)
			case test.on && (len(bindings.Items) != 1 || !identity.BoundAs(&bindings.Items[0], wanted)):
				t.Errorf("%s: want %v, got %v", test.reason, wanted, bindings.Items)
			}
		})
	}
}

// TestPermissionsOfBoth: the framework's pass over an add-on applies both bindings.
func TestPermissionsOfBoth(t *testing.T) {
	client := fake.NewClientset()
	added := New("image", client, newCache(t)).WithDistribution("open-cluster-management")
	_ = added.configurePermissions(t.Context(), nil, hubobjects.AddOn("cluster1", ""))
	for _, name := range []string{manifests.HubRole, manifests.ReplicaSetRole} {
		if _, err := client.RbacV1().RoleBindings("cluster1").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}
