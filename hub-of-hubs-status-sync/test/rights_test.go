//go:build postgres

package hubofhubs

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRights asks the API server what the programs may not do. That they may do
// what they need, the other tests show: they run with these rights alone.
func TestRights(t *testing.T) {
	admin, err := client.New(hub, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type right struct{ verb, group, resource, subresource, namespace, name string }
	const policies, apps, clusters, addons = "policy.open-cluster-management.io", "apps.open-cluster-management.io",
		"cluster.open-cluster-management.io", "addon.open-cluster-management.io"
	const summaries = "helloworld.open-cluster-management.io"
	both := []right{
		{"get", "", "secrets", "", ownNamespace, "hub-of-hubs-database-secret"}, {"list", "", "secrets", "", "", ""},
		{"get", "", "configmaps", "", "default", ""}, {"create", "", "pods", "", ownNamespace, ""},
		{"create", "apps", "deployments", "", ownNamespace, ""}, {"get", "apps", "deployments", "", ownNamespace, ""},
		{"list", "apps", "deployments", "", "default", ""}, {"patch", policies, "policies", "", "default", "p"},
		{"update", policies, "policies", "", "default", "p"}, {"delete", policies, "policies", "", "default", "p"},
		{"create", policies, "policies", "", "default", ""}, {"patch", clusters, "placements", "", "default", "p"},
		{"delete", clusters, "placements", "", "default", "p"}, {"patch", apps, "placementrules", "", "default", "p"},
		{"patch", apps, "subscriptions", "", "default", "s"}, {"patch", clusters, "managedclusters", "", "", "c"},
		{"patch", clusters, "managedclusters", "status", "", "c"}, {"patch", addons, "managedclusteraddons", "status", "c", "helloworld"},
		{"update", "coordination.k8s.io", "leases", "", ownNamespace, "another-lock"}, {"get", "coordination.k8s.io", "leases", "", "default", ""},
		{"delete", "coordination.k8s.io", "leases", "", ownNamespace, "hub-of-hubs-status-sync-lock"},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", "", "cluster-admin"}, {"impersonate", "", "users", "", "", "admin"},
		{"create", "", "serviceaccounts", "token", ownNamespace, "default"},
	}
	denied := map[string][]right{
		"hub-of-hubs-status-sync": append([]right{{"get", addons, "managedclusteraddons", "", "", ""},
			{"delete", summaries, "addonsummaries", "", "", "helloworld"}, {"get", summaries, "addonsummaries", "", "", "other"},
			{"patch", summaries, "addonsummaries", "status", "", "other"}, {"get", apps, "subscriptions", "", "default", "s"}}, both...),
		"hub-of-hubs-status-report": append([]right{{"patch", policies, "policies", "status", "default", "p"},
			{"create", clusters, "placementdecisions", "", "default", ""}, {"create", apps, "subscriptionreports", "", "default", ""},
			{"delete", apps, "subscriptionstatuses", "", "default", "s"}, {"get", policies, "policies", "", "default", "p"},
			{"list", addons, "managedclusteraddons", "", "", ""}, {"watch", addons, "managedclusteraddons", "", "cluster1", "other"}}, both...),
	}
	for program, rights := range denied {
		for _, r := range rights {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:   "system:serviceaccount:" + ownNamespace + ":" + program,
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + ownNamespace, "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource,
					Subresource: r.subresource, Namespace: r.namespace, Name: r.name},
			}}
			if err := admin.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed {
				t.Errorf("%s may %s %s/%s %s", program, r.verb, r.resource, r.subresource, r.name)
			}
		}
	}
	// The question is asked in the right way: something is allowed.
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + ownNamespace + ":hub-of-hubs-status-sync",
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Group: policies, Resource: "policies", Subresource: "status",
			Namespace: "default", Name: "p"},
	}}
	if err := admin.Create(t.Context(), review); err != nil || !review.Status.Allowed {
		t.Errorf("the sync may not write a policy's status: %v", err)
	}
	// A hub may have removed the default rights of all users.
	review = &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:                  "system:serviceaccount:" + ownNamespace + ":hub-of-hubs-status-report",
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/readyz", Verb: "get"},
	}}
	if err := admin.Create(t.Context(), review); err != nil || !review.Status.Allowed {
		t.Errorf("the report may not ask whether its hub answers: %v", err)
	}
}
