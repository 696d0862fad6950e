package reporter

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestRoleIsLeast: the role has a right to watch each kind, and of add-ons ours
// alone; what else it has is named here.
func TestRoleIsLeast(t *testing.T) {
	text, err := os.ReadFile("../../deploy/report/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal([]byte(strings.Split(string(text), "---\n")[0]), &role); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"authentication.k8s.io/tokenreviews":        "create ",
		"authorization.k8s.io/subjectaccessreviews": "create ",
		"/readyz": "get ",
	}
	plurals := map[status.Kind]string{status.KindPolicy: "policies", status.KindSubscriptionStatus: "subscriptionstatuses"}
	for kind, gvk := range plan.Kinds {
		plural := plurals[kind]
		if plural == "" {
			plural = strings.ToLower(gvk.Kind) + "s"
		}
		want[gvk.Group+"/"+plural] = "list,watch "
		if kind == status.KindManagedClusterAddOn {
			want[gvk.Group+"/"+plural] += manifests.AddonName
		}
	}
	got := map[string]string{}
	for _, rule := range role.Rules {
		slices.Sort(rule.Verbs)
		may := strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.ResourceNames, ",")
		for _, path := range rule.NonResourceURLs {
			got[path] = may
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				got[group+"/"+resource] = may
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-needed +given):\n%s", diff)
	}
}

// TestSelections: what is not reported is not even watched, where the API server
// can tell.
func TestSelections(t *testing.T) {
	all, err := selections()
	if err != nil {
		t.Fatal(err)
	}
	policies, addOns := all[status.KindPolicy].DefaultLabelSelector, all[status.KindManagedClusterAddOn].DefaultFieldSelector
	if !policies.Matches(labels.Set{}) || policies.Matches(labels.Set{plan.LabelRootPolicy: "ns.p"}) {
		t.Errorf("the policies are %s", policies)
	}
	if !addOns.Matches(fields.Set{"metadata.name": manifests.AddonName}) || addOns.Matches(fields.Set{"metadata.name": "another"}) {
		t.Errorf("the add-ons are %s", addOns)
	}
	if len(all) != 2 {
		t.Errorf("%d kinds are selected from, not 2", len(all))
	}
}
