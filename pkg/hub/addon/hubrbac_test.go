package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/addon-framework/pkg/agent"

	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestHubRBACGolden(t *testing.T) {
	binding, err := yaml.Marshal(HubRoleBinding(newAddon("cluster1", "")))
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "hub-rbac.yaml", string(binding))
}

// TestHubRoleBindingIsPerCluster guards what the whole isolation of clusters
// hangs on: no subject that two clusters' agents share.
func TestHubRoleBindingIsPerCluster(t *testing.T) {
	one, two := HubRoleBinding(newAddon("cluster1", "")), HubRoleBinding(newAddon("cluster10", ""))
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

// TestSubjectsAreNotTakenFromStatus: a managed cluster may write the subject in
// status.registrations.
func TestSubjectsAreNotTakenFromStatus(t *testing.T) {
	addon := newAddon("cluster1", "")
	addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:serviceaccount:cluster2:helloworld-agent")}
	if diff := cmp.Diff(HubRoleBinding(newAddon("cluster1", "")).Subjects, HubRoleBinding(addon).Subjects); diff != "" {
		t.Errorf("subjects differ (-want +got):\n%s", diff)
	}
}

// TestIdentityIsOCMs compares with what addon-framework, and so OCM, expects.
func TestIdentityIsOCMs(t *testing.T) {
	if got, want := AgentUser("cluster1"), agent.DefaultUser("cluster1", manifests.AddonName, manifests.AgentName); got != want {
		t.Errorf("user is %q, want %q", got, want)
	}
	if diff := cmp.Diff(agent.DefaultGroups("cluster1", manifests.AddonName), AgentGroups("cluster1")); diff != "" {
		t.Errorf("groups differ (-want +got):\n%s", diff)
	}
}
