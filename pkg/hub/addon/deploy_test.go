package addon

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestAgentsRole: the agents' rights are deployed with the controller, which may
// bind them and nothing else.
func TestAgentsRole(t *testing.T) {
	const group, own = "addon.open-cluster-management.io", "helloworld.open-cluster-management.io"
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{group}, Resources: []string{"managedclusteraddons"}, ResourceNames: []string{manifests.AddonName},
			Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{group}, Resources: []string{"managedclusteraddons/status"}, ResourceNames: []string{manifests.AddonName},
			Verbs: []string{"patch"}},
		{APIGroups: []string{own}, Resources: []string{"configmapmirrors"}, ResourceNames: []string{manifests.AddonName}, Verbs: []string{"get"}},
		{APIGroups: []string{own}, Resources: []string{"configmapmirrors/status"}, ResourceNames: []string{manifests.AddonName},
			Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
	for _, file := range rbacFiles {
		if diff := cmp.Diff(want, rules(t, file, manifests.HubRole)); diff != "" {
			t.Errorf("%s: the agents' rights differ (-want +got):\n%s", file, diff)
		}
		for _, rule := range rules(t, file, controllerRole) {
			if !slices.Contains(rule.Verbs, "bind") {
				continue
			}
			bind := rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"},
				ResourceNames: []string{manifests.HubRole, manifests.ReplicaSetRole}, Verbs: []string{"bind"}}
			if diff := cmp.Diff(bind, rule); diff != "" {
				t.Errorf("%s: the controller may bind more, or less (-want +got):\n%s", file, diff)
			}
		}
	}
	if diff := cmp.Diff(rules(t, rbacFiles[0], controllerRole), rules(t, rbacFiles[1], controllerRole)); diff != "" {
		t.Errorf("the chart's rights of the controller differ (-base +chart):\n%s", diff)
	}
}

// TestControllerRulesAreExact keeps wildcards and the verbs by which one can
// take more rights out of the controller's role.
func TestControllerRulesAreExact(t *testing.T) {
	for _, rule := range rules(t, rbacFiles[0], controllerRole) {
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
			if slices.Contains([]string{"*", "escalate", "impersonate", "sign", "secrets", "configmaps"}, word) {
				t.Errorf("the controller's role has %q in %v", word, rule)
			}
		}
	}
}

const controllerRole = "open-cluster-management:" + manifests.ControllerName

// TestReplicaSetRoles: the controller of ConfigMapReplicaSets may write ConfigMaps by the
// role alone that is bound in the namespaces of clusters. Hub-wide it may write its own
// objects and events.
func TestReplicaSetRoles(t *testing.T) {
	const file = "../../../deploy/distribution/rbac.yaml"
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch", "delete"}}}
	if diff := cmp.Diff(want, rules(t, file, manifests.ReplicaSetRole)); diff != "" {
		t.Errorf("the rights in a cluster's namespace differ (-want +got):\n%s", diff)
	}
	var written []string
	for _, rule := range rules(t, file, "open-cluster-management:"+manifests.ManagedByReplicaSet) {
		if slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }) {
			written = append(written, rule.Resources...)
		}
	}
	slices.Sort(written)
	wantWritten := []string{"configmapreplicasets", "configmapreplicasets/finalizers", "configmapreplicasets/status", "controllerrevisions", "events"}
	if diff := cmp.Diff(wantWritten, written); diff != "" {
		t.Errorf("what it may write hub-wide differs (-want +got):\n%s", diff)
	}
}

// rbacFiles are the same for kustomize and for Helm.
var rbacFiles = []string{"../../../deploy/base/rbac.yaml", "../../../deploy/chart/helloworld-addon/templates/rbac.yaml"}

// rules returns those of a ClusterRole in the file.
func rules(t *testing.T, file, name string) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		if !strings.Contains(document, "\nkind: ClusterRole\n") {
			continue
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Name == name {
			return role.Rules
		}
	}
	t.Fatalf("%s has no ClusterRole %s", file, name)
	return nil
}
