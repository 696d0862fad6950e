package addon

import (
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestControllerHoldsWhatItGives: the API server lets nobody write a Role with
// rights that they do not have themselves.
func TestControllerHoldsWhatItGives(t *testing.T) {
	held := controllerRules(t)
	for _, rule := range HubRole(newAddon("cluster1", "")).Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range append(rule.ResourceNames, namesUnless(rule.ResourceNames)...) {
						if !slices.ContainsFunc(held, func(r rbacv1.PolicyRule) bool { return allows(r, group, resource, verb, name) }) {
							t.Errorf("the agent may %s %s/%s %s, the controller may not", verb, group, resource, name)
						}
					}
				}
			}
		}
	}
}

// namesUnless is the name of no object in particular when names is empty.
func namesUnless(names []string) []string {
	if len(names) > 0 {
		return nil
	}
	return []string{""}
}

func allows(rule rbacv1.PolicyRule, group, resource, verb, name string) bool {
	return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
		slices.Contains(rule.Verbs, verb) && (len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
}

// TestControllerRulesAreExact keeps wildcards and the verbs by which one can
// take more rights out of the controller's role.
func TestControllerRulesAreExact(t *testing.T) {
	for _, rule := range controllerRules(t) {
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
			if slices.Contains([]string{"*", "escalate", "bind", "impersonate", "sign"}, word) {
				t.Errorf("the controller's role has %q in %v", word, rule)
			}
		}
		if slices.Contains(rule.Resources, "secrets") {
			t.Errorf("the controller has no need of secrets: %v", rule)
		}
	}
}

func controllerRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile("../../../deploy/base/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == "ClusterRole" && role.Name == "open-cluster-management:"+manifests.ControllerName {
			return role.Rules
		}
	}
	t.Fatal("deploy/base/rbac.yaml has no ClusterRole of the controller")
	return nil
}
