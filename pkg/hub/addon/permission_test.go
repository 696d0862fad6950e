package addon

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestApplyHubRBAC(t *testing.T) {
	addon := newAddon("cluster1", "")
	tests := []struct {
		name   string
		before func(*rbacv1.Role, *rbacv1.RoleBinding)
		absent bool
		writes []string
	}{
		{
			name: "created where there is nothing, and told", absent: true,
			writes: []string{"create roles", "create events", "create rolebindings", "create events"},
		},
		{name: "nothing written where all is well", before: func(*rbacv1.Role, *rbacv1.RoleBinding) {}},
		{
			name: "changed rights come back",
			before: func(role *rbacv1.Role, binding *rbacv1.RoleBinding) {
				role.Rules = role.Rules[1:]
				binding.Subjects = nil
			},
			writes: []string{"update roles", "create events", "update rolebindings", "create events"},
		},
		{
			name: "the owner is the add-on of today, not the one deleted yesterday",
			before: func(role *rbacv1.Role, binding *rbacv1.RoleBinding) {
				role.OwnerReferences[0].UID = "yesterday"
				binding.OwnerReferences[0].UID = "yesterday"
			},
			writes: []string{"update roles", "create events", "update rolebindings", "create events"},
		},
		{
			name: "labels of others stay, and are no reason to write",
			before: func(role *rbacv1.Role, binding *rbacv1.RoleBinding) {
				role.Labels["theirs"] = "1"
				binding.Annotations = map[string]string{"theirs": "1"}
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			role, binding := HubRole(addon), HubRoleBinding(addon)
			var objects []runtime.Object
			if !test.absent {
				test.before(role, binding)
				objects = append(objects, role, binding)
			}
			client := fake.NewClientset(objects...)
			if diff := cmp.Diff(test.writes, apply(t, client, addon)); diff != "" {
				t.Errorf("writes differ (-want +got):\n%s", diff)
			}
			checkHubRBAC(t, client, addon)
			if second := apply(t, client, addon); len(second) > 0 {
				t.Errorf("a second run writes: %v", second)
			}
		})
	}
}

func TestApplyHubRBACKeepsForeignLabels(t *testing.T) {
	addon := newAddon("cluster1", "")
	role := HubRole(addon)
	role.Labels = map[string]string{"theirs": "1"}
	client := fake.NewClientset(role)
	apply(t, client, addon)
	got, err := client.RbacV1().Roles("cluster1").Get(t.Context(), manifests.HubRole, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"theirs": "1"}
	for key, value := range HubRole(addon).Labels {
		want[key] = value
	}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}

func TestApplyHubRBACErrors(t *testing.T) {
	tests := []struct{ verb, resource, err string }{
		{"get", "roles", "apply role cluster1/" + manifests.HubRole},
		{"create", "roles", "apply role cluster1/" + manifests.HubRole},
		{"get", "rolebindings", "apply role binding cluster1/" + manifests.HubRole},
		{"create", "rolebindings", "apply role binding cluster1/" + manifests.HubRole},
	}
	for _, test := range tests {
		t.Run(test.verb+" "+test.resource, func(t *testing.T) {
			client := fake.NewClientset()
			broken := errors.New("broken")
			client.PrependReactor(test.verb, test.resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, broken
			})
			err := applyHubRBAC(t.Context(), client, clock.RealClock{}, newAddon("cluster1", ""))
			checkError(t, err, test.err)
			if !errors.Is(err, broken) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// apply runs applyHubRBAC and returns what it wrote.
func apply(t *testing.T, client *fake.Clientset, addon *addonv1beta1.ManagedClusterAddOn) []string {
	t.Helper()
	client.ClearActions()
	if err := applyHubRBAC(t.Context(), client, clock.RealClock{}, addon); err != nil {
		t.Fatal(err)
	}
	var writes []string
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	return writes
}

func checkHubRBAC(t *testing.T, client *fake.Clientset, addon *addonv1beta1.ManagedClusterAddOn) {
	t.Helper()
	role, err := client.RbacV1().Roles(addon.Namespace).Get(t.Context(), manifests.HubRole, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding, err := client.RbacV1().RoleBindings(addon.Namespace).Get(t.Context(), manifests.HubRole, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type rights struct {
		Rules    []rbacv1.PolicyRule
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
		Owners   [2][]metav1.OwnerReference
	}
	wantRole, wantBinding := HubRole(addon), HubRoleBinding(addon)
	want := rights{wantRole.Rules, wantBinding.RoleRef, wantBinding.Subjects,
		[2][]metav1.OwnerReference{wantRole.OwnerReferences, wantBinding.OwnerReferences}}
	got := rights{role.Rules, binding.RoleRef, binding.Subjects,
		[2][]metav1.OwnerReference{role.OwnerReferences, binding.OwnerReferences}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights differ (-want +got):\n%s", diff)
	}
}
