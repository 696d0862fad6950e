package addon

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

func TestApplyBinding(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	apply := []string{"get rolebindings", "update rolebindings", "create events"}
	tests := []struct {
		name     string
		reason   string
		before   func(*rbacv1.RoleBinding)
		absent   bool
		requests []string
	}{
		{name: "there is none", absent: true, reason: "one request for each cluster on which the add-on is enabled",
			requests: []string{"create rolebindings"}},
		{name: "all is well", before: func(*rbacv1.RoleBinding) {}, reason: "an idle pass makes no request"},
		{name: "other subjects", before: func(binding *rbacv1.RoleBinding) { binding.Subjects = nil },
			requests: apply, reason: "changed rights come back"},
		{name: "the certificate's user alone", before: func(binding *rbacv1.RoleBinding) { binding.Subjects = binding.Subjects[:1] },
			requests: apply, reason: "a version that did not know tokens"},
		{name: "an owner of yesterday", before: func(binding *rbacv1.RoleBinding) { binding.OwnerReferences[0].UID = "yesterday" },
			requests: apply, reason: "Kubernetes would collect it"},
		{name: "no label", before: func(binding *rbacv1.RoleBinding) { binding.Labels = nil }, requests: apply,
			reason: "labels are how people find it"},
		{name: "labels, annotations and owners of others", reason: "they are no reason to write",
			before: func(binding *rbacv1.RoleBinding) {
				binding.Labels["theirs"] = "1"
				binding.Annotations = map[string]string{"theirs": "1"}
				binding.OwnerReferences = append(binding.OwnerReferences, metav1.OwnerReference{Kind: "Theirs", Name: "theirs"})
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, cached := fake.NewClientset(), bindings()
			if !test.absent {
				binding := identity.RoleBinding(addon)
				test.before(binding)
				client, cached = fake.NewClientset(binding), bindings(binding)
			}
			if diff := cmp.Diff(test.requests, requestsOf(t, client, cached, addon)); diff != "" {
				t.Errorf("%s: requests differ (-want +got):\n%s", test.reason, diff)
			}
			binding := liveBinding(t, client)
			if !identity.BoundAs(binding, identity.RoleBinding(addon)) {
				t.Errorf("%s: the binding is %v", test.reason, binding)
			}
			if test.requests != nil {
				checkNothingToDo(t, client, addon)
			}
		})
	}
}

// TestUpgradeFromRoles: former versions bound to a Role in the cluster's
// namespace, and a roleRef cannot be changed.
func TestUpgradeFromRoles(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	client, former := formerHub(addon)
	want := []string{"create rolebindings", "delete roles", "delete rolebindings",
		"get rolebindings", "create rolebindings", "create events"}
	if diff := cmp.Diff(want, requestsOf(t, client, bindings(former), addon)); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	if binding := liveBinding(t, client); !identity.BoundAs(binding, identity.RoleBinding(addon)) {
		t.Errorf("the binding is %v", binding)
	}
	roles, err := client.RbacV1().Roles("cluster1").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(roles.Items) > 0 {
		t.Errorf("there are still the roles %v (%v)", roles, err)
	}
	checkNothingToDo(t, client, addon)
}

// TestUpgradeOnAStaleCache: the next pass may still see the former binding. The
// API server answers a delete with another UID by Conflict.
func TestUpgradeOnAStaleCache(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	_, former := formerHub(addon)
	client := fake.NewClientset(identity.RoleBinding(addon))
	client.PrependReactor("delete", "rolebindings", func(action clienttesting.Action) (bool, runtime.Object, error) {
		options := action.(clienttesting.DeleteActionImpl).DeleteOptions
		if options.Preconditions == nil || *options.Preconditions.UID != former.UID {
			t.Errorf("a delete without the former binding's UID: %v", options)
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "rolebindings"}, manifests.HubRole, errors.New("uid"))
	})
	requestsOf(t, client, bindings(former), addon)
	if binding := liveBinding(t, client); !identity.BoundAs(binding, identity.RoleBinding(addon)) {
		t.Errorf("the binding is %v", binding)
	}
}

// TestUpgradeWithoutTheRightToBind: the controller's image was changed, its RBAC
// was not.
func TestUpgradeWithoutTheRightToBind(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	client, former := formerHub(addon)
	client.PrependReactor("create", "rolebindings", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "rolebindings"}, manifests.HubRole, errors.New("bind"))
	})
	err := applyBinding(t.Context(), client, bindings(former), clock.RealClock{}, addon, identity.RoleBinding(addon))
	hubobjects.CheckError(t, err, "apply the controller's RBAC of this version")
	if binding := liveBinding(t, client); binding.RoleRef.Kind != "Role" {
		t.Errorf("the former binding is gone: %v", binding)
	}
	if _, err := client.RbacV1().Roles("cluster1").Get(t.Context(), manifests.HubRole, metav1.GetOptions{}); err != nil {
		t.Errorf("the agent has lost its rights: %v", err)
	}
}

// TestBindingDeletedByAUser: putting back what a user deleted is an event.
func TestBindingDeletedByAUser(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	addon.Status.Conditions = append(addon.Status.Conditions,
		metav1.Condition{Type: addonv1beta1.ManagedClusterAddOnRegistrationApplied, Status: metav1.ConditionTrue})
	want := []string{"get rolebindings", "create rolebindings", "create events"}
	if diff := cmp.Diff(want, requestsOf(t, fake.NewClientset(), bindings(), addon)); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
}

func TestApplyBindingErrors(t *testing.T) {
	for verb, client := range map[string]*fake.Clientset{
		"create": fake.NewClientset(),
		"get":    fake.NewClientset(identity.RoleBinding(hubobjects.AddOn("cluster1", ""))), // the cache does not have it yet
	} {
		t.Run(verb, func(t *testing.T) {
			broken := errors.New("broken")
			client.PrependReactor(verb, "rolebindings", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, broken
			})
			addon := hubobjects.AddOn("cluster1", "")
			err := applyBinding(t.Context(), client, bindings(), clock.RealClock{}, addon, identity.RoleBinding(addon))
			hubobjects.CheckError(t, err, "apply role binding cluster1/"+manifests.HubRole)
			if !errors.Is(err, broken) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// formerHub has what former versions made in the cluster's namespace.
func formerHub(addon *addonv1beta1.ManagedClusterAddOn) (*fake.Clientset, *rbacv1.RoleBinding) {
	former := identity.RoleBinding(addon)
	former.UID = "former"
	former.RoleRef.Kind = "Role"
	former.Subjects = former.Subjects[:1]
	return fake.NewClientset(former, &rbacv1.Role{ObjectMeta: identity.RoleBinding(addon).ObjectMeta}), former
}

// requestsOf applies the agent's binding and returns the requests that it made.
func requestsOf(t *testing.T, client *fake.Clientset, cached rbaclisters.RoleBindingLister, addon *addonv1beta1.ManagedClusterAddOn) []string {
	t.Helper()
	client.ClearActions()
	if err := applyBinding(t.Context(), client, cached, clock.RealClock{}, addon, identity.RoleBinding(addon)); err != nil {
		t.Fatal(err)
	}
	var requests []string
	for _, action := range client.Actions() {
		requests = append(requests, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return requests
}

// checkNothingToDo runs it again, on a cache that has what the hub has.
func checkNothingToDo(t *testing.T, client *fake.Clientset, addon *addonv1beta1.ManagedClusterAddOn) {
	t.Helper()
	if second := requestsOf(t, client, bindings(liveBinding(t, client)), addon); len(second) > 0 {
		t.Errorf("a second run makes requests: %v", second)
	}
}

func liveBinding(t *testing.T, client *fake.Clientset) *rbacv1.RoleBinding {
	t.Helper()
	binding, err := client.RbacV1().RoleBindings("cluster1").Get(t.Context(), manifests.HubRole, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return binding
}
