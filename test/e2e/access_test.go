//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attributes are what an identity wants to do.
type attributes = authorizationv1.ResourceAttributes

type identity struct {
	user   string
	groups []string
}

type accessCase struct {
	reason  string
	request attributes
	allowed bool
}

// review asks the API server each case.
func review(t *testing.T, api apiServer, who identity, cases []accessCase) {
	t.Helper()
	for _, tc := range cases {
		answer, err := api.kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: who.user, Groups: who.groups, ResourceAttributes: &tc.request},
		}, metav1.CreateOptions{})
		must(t, "ask the API server", err)
		if answer.Status.Allowed != tc.allowed {
			t.Errorf("%s: %s: allowed is %t, want %t (%s)", who.user, describe(tc.request), answer.Status.Allowed, tc.allowed, tc.reason)
		}
	}
}

func describe(a attributes) string {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return fmt.Sprintf("%s %s %q in namespace %q", a.Verb, resource, a.Name, a.Namespace)
}

// verbs makes one case for each verb.
func verbs(reason string, allowed bool, request attributes, list ...string) []accessCase {
	var cases []accessCase
	for _, verb := range list {
		request.Verb = verb
		cases = append(cases, accessCase{reason: reason, request: request, allowed: allowed})
	}
	return cases
}

var (
	readVerbs  = []string{"get", "list", "watch"}
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// The identity that the agent of one cluster has on the hub reads that
// cluster's ConfigMaps; everything else, other clusters' above all, is denied.
func hubAccessReviews(t *testing.T, env *environment) {
	for i, c := range env.clusters {
		other := env.clusters[(i+1)%len(env.clusters)]
		eventually(t, c.name+": the agent's permission is there", func(ctx context.Context) error {
			return env.agentMayRead(ctx, c)
		})
		review(t, env.hub.apiServer, identity{agentUser(c.name), agentGroups(c.name)}, hubAccess(c.name, other.name))
		// where OCM's registration agent uses tokens
		account := "system:serviceaccount:" + c.name + ":helloworld-agent"
		groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + c.name, "system:authenticated"}
		review(t, env.hub.apiServer, identity{account, groups}, hubAccess(c.name, other.name))
	}
}

func hubAccess(own, other string) []accessCase {
	const addons, ownGroup = "addon.open-cluster-management.io", "helloworld.open-cluster-management.io"
	configMaps := func(namespace string) attributes { return attributes{Namespace: namespace, Resource: "configmaps"} }
	secrets := func(namespace string) attributes { return attributes{Namespace: namespace, Resource: "secrets"} }
	addonStatus := func(namespace, name string) attributes {
		return attributes{Group: addons, Namespace: namespace, Resource: "managedclusteraddons", Subresource: "status", Name: name}
	}
	mirror := func(namespace, subresource, name string) attributes {
		return attributes{Group: ownGroup, Namespace: namespace, Resource: "configmapmirrors", Subresource: subresource, Name: name}
	}
	var cases []accessCase
	add := func(reason string, allowed bool, request attributes, list ...[]string) {
		for _, v := range list {
			cases = append(cases, verbs(reason, allowed, request, v...)...)
		}
	}
	add("it is what the add-on copies", true, configMaps(own), readVerbs)
	add("the add-on never writes a source", false, configMaps(own), writeVerbs)
	add("it is another cluster's", false, configMaps(other), readVerbs, writeVerbs)
	add("it is all clusters'", false, configMaps(""), readVerbs, writeVerbs)
	add("it is the hub's own", false, configMaps(controllerNamespace), readVerbs, writeVerbs)
	add("the add-on has no use for secrets", false, secrets(own), readVerbs, writeVerbs)
	add("it is another cluster's", false, secrets(other), readVerbs, writeVerbs)
	add("it reports on itself", true, addonStatus(own, addonName), []string{"patch"})
	add("it has to see when it is uninstalled", true,
		attributes{Group: addons, Namespace: own, Resource: "managedclusteraddons", Name: addonName}, readVerbs)
	add("it is all add-ons", false, attributes{Group: addons, Namespace: own, Resource: "managedclusteraddons"}, readVerbs)
	add("it is another add-on's", false, addonStatus(own, "other"), []string{"get", "update", "patch"})
	add("it is another cluster's", false, addonStatus(other, addonName), []string{"get", "update", "patch"})
	add("it reports in it", true, mirror(own, "", addonName), []string{"get"})
	add("it reports in it", true, mirror(own, "status", addonName), []string{"patch"})
	add("the controller creates it", false, mirror(own, "", addonName), []string{"list", "watch"}, writeVerbs)
	add("it reports by server-side apply alone", false, mirror(own, "status", addonName), []string{"get", "update"})
	add("it is not the agent's", false, mirror(own, "", "other"), readVerbs, writeVerbs)
	add("it is not the agent's", false, mirror(own, "status", "other"), readVerbs, writeVerbs)
	add("it is another cluster's", false, mirror(other, "", addonName), readVerbs, writeVerbs)
	add("it is another cluster's", false, mirror(other, "status", addonName), readVerbs, writeVerbs)
	add("a rollout is the hub's matter", false,
		attributes{Group: ownGroup, Namespace: own, Resource: "configmapreplicasets"}, readVerbs, writeVerbs)
	add("only people enable and disable", false,
		attributes{Group: addons, Namespace: own, Resource: "managedclusteraddons", Name: addonName}, writeVerbs)
	add("works are programs on the cluster", false,
		attributes{Group: "work.open-cluster-management.io", Namespace: own, Resource: "manifestworks"}, readVerbs, writeVerbs)
	add("it would be a way to any permission", false,
		attributes{Group: "rbac.authorization.k8s.io", Namespace: own, Resource: "rolebindings"}, writeVerbs)
	add("it would be a way to another identity", false,
		attributes{Namespace: own, Resource: "serviceaccounts", Subresource: "token"}, []string{"create"})
	add("the registration agent asks for certificates", false,
		attributes{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}, writeVerbs)
	add("it is the registration agent's", false,
		attributes{Group: "cluster.open-cluster-management.io", Resource: "managedclusters", Name: own}, readVerbs, writeVerbs)
	return cases
}

// agentMayRead checks that the agent's identity may read its ConfigMaps.
func (e *environment) agentMayRead(ctx context.Context, c *cluster) error {
	answer, err := e.hub.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               agentUser(c.name),
			Groups:             agentGroups(c.name),
			ResourceAttributes: &attributes{Namespace: c.name, Resource: "configmaps", Verb: "list"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !answer.Status.Allowed {
		return fmt.Errorf("%s may not list ConfigMaps in namespace %s: %s", agentUser(c.name), c.name, answer.Status.Reason)
	}
	return nil
}

// The agent's ServiceAccount on the managed cluster writes ConfigMaps and its
// lease in the install namespace and reads its one secret: nothing else, and
// nothing in any other namespace.
func managedAccessReviews(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		ns := c.installNamespace
		who := identity{
			user:   "system:serviceaccount:" + ns + ":" + agentServiceAccount,
			groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
		}
		review(t, c.apiServer, who, managedAccess(ns))
	}
}

func managedAccess(ns string) []accessCase {
	var cases []accessCase
	add := func(reason string, allowed bool, request attributes, list ...string) {
		cases = append(cases, verbs(reason, allowed, request, list...)...)
	}
	all := append(append([]string{}, readVerbs...), writeVerbs...)
	add("the copies", true, attributes{Namespace: ns, Resource: "configmaps"}, "list", "watch", "create", "update", "delete")
	add("a copy is created, or written whole", false, attributes{Namespace: ns, Resource: "configmaps"}, "patch", "deletecollection")
	add("the lease", true, attributes{Group: "coordination.k8s.io", Namespace: ns, Resource: "leases", Name: agentLease}, "get", "update")
	add("it has another owner", false,
		attributes{Group: "coordination.k8s.io", Namespace: ns, Resource: "leases", Name: "other"}, "get", "update", "patch", "delete")
	add("the hub credentials", true, attributes{Namespace: ns, Resource: "secrets", Name: agentSecret}, readVerbs...)
	add("they are the registration agent's to write", false, attributes{Namespace: ns, Resource: "secrets", Name: agentSecret}, writeVerbs...)
	add("it has another owner", false, attributes{Namespace: ns, Resource: "secrets", Name: "other"}, all...)
	add("it is every secret", false, attributes{Namespace: ns, Resource: "secrets"}, all...)
	add("its events", true, attributes{Namespace: ns, Resource: "events"}, "create", "patch")
	add("it is another namespace", false, attributes{Namespace: metav1.NamespaceSystem, Resource: "configmaps"}, all...)
	add("it is every namespace", false, attributes{Resource: "configmaps"}, all...)
	add("the agent starts nothing", false, attributes{Namespace: ns, Resource: "pods"}, all...)
	add("the agent deploys nothing", false, attributes{Group: "apps", Namespace: ns, Resource: "deployments"}, all...)
	add("it would be a way to any permission", false,
		attributes{Group: "rbac.authorization.k8s.io", Namespace: ns, Resource: "rolebindings"}, writeVerbs...)
	add("nothing cluster-wide", false, attributes{Resource: "nodes"}, all...)
	add("nothing cluster-wide", false, attributes{Resource: "namespaces", Name: ns}, all...)
	return cases
}
