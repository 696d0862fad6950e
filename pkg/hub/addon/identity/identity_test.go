package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/addon-framework/pkg/agent"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestHubRBACGolden(t *testing.T) {
	for file, binding := range map[string]*rbacv1.RoleBinding{
		"hub-rbac.yaml":        RoleBinding(hubobjects.AddOn("cluster1", "")),
		"replicaset-rbac.yaml": ReplicaSetRoleBinding(hubobjects.AddOn("cluster1", ""), "open-cluster-management"),
	} {
		text, err := yaml.Marshal(binding)
		if err != nil {
			t.Fatal(err)
		}
		hubobjects.CheckGolden(t, file, string(text))
	}
}

// TestHubRoleBindingIsPerCluster: the agents of two clusters share no subject, which
// is the base of the clusters' isolation (docs/design.md#hub-rbac).
func TestHubRoleBindingIsPerCluster(t *testing.T) {
	one, two := RoleBinding(hubobjects.AddOn("cluster1", "")), RoleBinding(hubobjects.AddOn("cluster10", ""))
	for _, a := range one.Subjects {
		for _, b := range two.Subjects {
			if a == b {
				t.Errorf("the agents of two clusters share the subject %v", a)
			}
		}
	}
	want := []rbacv1.Subject{
		{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind,
			Name: "system:open-cluster-management:cluster:cluster1:addon:helloworld:agent:helloworld-agent"},
		{Kind: rbacv1.ServiceAccountKind, Namespace: "cluster1", Name: "helloworld-agent"},
	}
	if diff := cmp.Diff(want, one.Subjects); diff != "" {
		t.Errorf("subjects differ (-want +got):\n%s", diff)
	}
}

// TestSubjectsAreNotTakenFromStatus: a managed cluster can write the subject in
// status.registrations.
func TestSubjectsAreNotTakenFromStatus(t *testing.T) {
	addon := hubobjects.AddOn("cluster1", "")
	addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:serviceaccount:cluster2:helloworld-agent")}
	if diff := cmp.Diff(RoleBinding(hubobjects.AddOn("cluster1", "")).Subjects, RoleBinding(addon).Subjects); diff != "" {
		t.Errorf("subjects differ (-want +got):\n%s", diff)
	}
}

// TestIdentityIsOCMs compares the identity with addon-framework's default.
func TestIdentityIsOCMs(t *testing.T) {
	if got, want := User("cluster1"), agent.DefaultUser("cluster1", manifests.AddonName, manifests.AgentName); got != want {
		t.Errorf("user is %q, want %q", got, want)
	}
	if diff := cmp.Diff(agent.DefaultGroups("cluster1", manifests.AddonName), Groups("cluster1")); diff != "" {
		t.Errorf("groups differ (-want +got):\n%s", diff)
	}
}
