//go:build e2e && replicaset

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// tenantLabel on a ManagedCluster has the name of the cluster set that the cluster belongs to.
	tenantLabel = suiteLabel + "-tenant"
	tenantUser  = "user"
)

// A team with rights in its own namespace alone reaches the clusters that are bound there, and no others: not by a
// Placement of its own, not by one of another team, and not by writing to a cluster's namespace.
func tenancyOfTeams(t *testing.T, tm *team) {
	const name = "e2e-tenancy"
	own, others := tm.clusters[:2], tm.clusters[2:]
	first, second := tm.tenant(t, firstHalfTeam, own), tm.tenant(t, secondHalfTeam, others)
	user := first.as(t, first.member(t))
	all := "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: " + name + "}, spec: {%s}}"
	must(t, "the other team has a Placement", second.apply(t.Context(), placements, "theirs", strings.Replace(fmt.Sprintf(all, ""), name, "theirs", 1)))

	user.source(t, name, one)
	must(t, "the user creates a Placement of all clusters", user.apply(t.Context(), placements, name, fmt.Sprintf(all, "")))
	user.create(t, name, fmt.Sprintf(plainSet, name))
	user.everywhere(t, name, one, own...)
	elsewhere := user.unchanged(t, others, name)

	must(t, "the user names the other team's cluster set", user.apply(t.Context(), placements, name+"-set", strings.Replace(
		fmt.Sprintf(all, "clusterSets: ["+secondHalfTeam+"]"), name, name+"-set", 1)))
	user.change(t, name, fmt.Sprintf(`{"placementRefs":[{"name":%q},{"name":"%s-set"}]}`, name, name))
	eventually(t, "it selects no cluster", user.selectsNothing(name+"-set"))
	for _, reference := range []string{"theirs", second.namespace + "/theirs"} {
		user.change(t, name, fmt.Sprintf(`{"placementRefs":[{"name":%q},{"name":%q}]}`, name, reference))
		eventually(t, "another team's Placement does not exist here",
			user.tells(name, "PlacementsResolved", metav1.ConditionFalse, "PlacementNotFound", "Placement "+reference+" does not exist"))
	}
	_, err := user.dynamic.Resource(replicaSets).Namespace(user.namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"placementRefs":[{"name":"theirs","namespace":%q}]}}`, second.namespace),
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("a Placement of another namespace: want the API server to reject the field, got %v", err)
	}
	consistently(t, quiet, "no other cluster is touched", elsewhere)
	must(t, "their own are as before", own[0].hasCopy(configMap(name, one))(t.Context()))

	for _, attempt := range beyondTheTeam(user, others[0].name, second.namespace) {
		if err := attempt.do(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("the user, %s: want it forbidden, got %v", attempt.name, err)
		}
	}
}

// beyondTheTeam are requests that a member of a team tries.
func beyondTheTeam(user *team, cluster, otherTeam string) []attempt {
	return []attempt{
		{"bind the other team's cluster set", func(ctx context.Context) error {
			return user.apply(ctx, setBindings, secondHalfTeam, fmt.Sprintf(bindingManifest, secondHalfTeam))
		}},
		{"label the cluster into its own cluster set", func(ctx context.Context) error {
			_, err := user.dynamic.Resource(clusterGroup("v1", "managedclusters")).Patch(ctx, cluster, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, tenantLabel, firstHalfTeam), metav1.PatchOptions{})
			return err
		}},
		{"create a ConfigMap in the cluster's namespace", func(ctx context.Context) error {
			_, err := user.kube.CoreV1().ConfigMaps(cluster).Create(ctx, configMap("e2e-stolen", nil), metav1.CreateOptions{})
			return err
		}},
		{"read the cluster's ConfigMaps", func(ctx context.Context) error {
			_, err := user.kube.CoreV1().ConfigMaps(cluster).List(ctx, metav1.ListOptions{})
			return err
		}},
		{"create a set in the other team's namespace", func(ctx context.Context) error {
			_, err := user.dynamic.Resource(replicaSets).Namespace(otherTeam).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "helloworld.open-cluster-management.io/v1alpha1", "kind": "ConfigMapReplicaSet",
				"metadata": map[string]any{"name": "e2e-stolen"}}}, metav1.CreateOptions{})
			return err
		}},
		{"bind the controller's rights", func(ctx context.Context) error {
			_, err := user.kube.RbacV1().RoleBindings(cluster).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-stolen"}}, metav1.CreateOptions{})
			return err
		}},
	}
}

// tenant creates a team, and a cluster set of the clusters that is bound in its namespace. Both have one name.
func (tm *team) tenant(t *testing.T, name string, clusters []*cluster) *team {
	t.Helper()
	sets := tm.hub.dynamic.Resource(clusterSets)
	cleanup(t, "delete the cluster set", func(ctx context.Context) error { return ignoreNotFound(sets.Delete(ctx, name, metav1.DeleteOptions{})) })
	_, err := sets.Apply(t.Context(), name, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"clusterSelector": map[string]any{
			"selectorType": "LabelSelector", "labelSelector": map[string]any{"matchLabels": map[string]any{tenantLabel: name}}}},
	}}, metav1.ApplyOptions{FieldManager: "helloworld-e2e", Force: true})
	must(t, "create the cluster set", err)
	for _, c := range clusters {
		tm.labelCluster(t, c, tenantLabel, name)
	}
	return tm.newTeam(t, name, name)
}

// member creates a ServiceAccount with the rights of a team's member: to edit the namespace, its sets and Placements.
func (tm *team) member(t *testing.T) identityOf {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: tenantUser}}
	_, err := tm.kube.CoreV1().ServiceAccounts(tm.namespace).Create(t.Context(), account, metav1.CreateOptions{})
	must(t, "create the user", err)
	roles := tm.kube.RbacV1()
	_, err = roles.Roles(tm.namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: tenantUser}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{replicaSets.Group}, Resources: []string{replicaSets.Resource}, Verbs: []string{"*"}},
		{APIGroups: []string{placements.Group}, Resources: []string{placements.Resource}, Verbs: []string{"*"}},
	}}, metav1.CreateOptions{})
	must(t, "create the user's role", err)
	for _, ref := range []rbacv1.RoleRef{
		{APIGroup: rbacv1.GroupName, Kind: "Role", Name: tenantUser},
		{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	} {
		_, err = roles.RoleBindings(tm.namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "user-" + strings.ToLower(ref.Kind)}, RoleRef: ref,
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tm.namespace, Name: tenantUser}},
		}, metav1.CreateOptions{})
		must(t, "bind the user's role", err)
	}
	return identityOf{tm.namespace, tenantUser}
}

// identityOf is a ServiceAccount of the hub.
type identityOf struct{ namespace, account string }

// as returns the team with a client that has nothing but a token of the account.
func (tm *team) as(t *testing.T, who identityOf) *team {
	t.Helper()
	answer, err := tm.hub.kube.CoreV1().ServiceAccounts(who.namespace).CreateToken(t.Context(), who.account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, "request a token", err)
	config := rest.AnonymousClientConfig(tm.hub.config)
	config.BearerToken = answer.Status.Token
	api, err := apiServerFor(config)
	must(t, "create a client with it", err)
	return &team{environment: tm.environment, apiServer: api, namespace: tm.namespace}
}

// selectsNothing checks that the Placement has decided, and selects no cluster.
func (tm *team) selectsNothing(name string) check {
	return func(ctx context.Context) error {
		placement, err := tm.hub.cluster.ClusterV1beta1().Placements(tm.namespace).Get(ctx, name, getOptions)
		if err != nil {
			return err
		}
		if len(placement.Status.Conditions) == 0 || placement.Status.NumberOfSelectedClusters != 0 {
			return fmt.Errorf("the status of Placement %s is %+v", name, placement.Status)
		}
		return nil
	}
}

// The controller of ConfigMapReplicaSets writes ConfigMaps in the namespaces of clusters on which the add-on is enabled,
// and nowhere else, and it reads no secret. These are real requests with a token of its ServiceAccount.
func controllerIsConfined(t *testing.T, tm *team) {
	account := tm.as(t, identityOf{controllerNamespace, setController})
	c := tm.clusters[0]
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	write := func(namespace string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := account.kube.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("e2e-account", nil), dryRun)
			return err
		}
	}
	must(t, "write to the namespace of a cluster: without that, a denial says nothing", write(c.name)(t.Context()))
	attempts := beyondTheClusters(account, c.name)
	for _, namespace := range []string{tm.namespace, controllerNamespace, metav1.NamespaceSystem, metav1.NamespaceDefault} {
		attempts = append(attempts, attempt{"write a ConfigMap to namespace " + namespace, write(namespace)})
	}
	for _, attempt := range attempts {
		if err := attempt.do(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s, %s: want it forbidden, got %v", setController, attempt.name, err)
		}
	}
}

// beyondTheClusters are requests that the controller's account tries.
func beyondTheClusters(account *team, cluster string) []attempt {
	core, rbac := account.kube.CoreV1(), account.kube.RbacV1()
	named := metav1.ObjectMeta{Name: "e2e-account"}
	var attempts []attempt
	for _, namespace := range []string{metav1.NamespaceAll, cluster, controllerNamespace, account.namespace} {
		attempts = append(attempts, attempt{fmt.Sprintf("list the secrets of namespace %q", namespace), func(ctx context.Context) error {
			_, err := core.Secrets(namespace).List(ctx, metav1.ListOptions{})
			return err
		}})
	}
	return append(attempts, []attempt{
		{"get a secret", func(ctx context.Context) error {
			_, err := core.Secrets(cluster).Get(ctx, "e2e-account", getOptions)
			return err
		}},
		{"bind a role in a cluster's namespace", func(ctx context.Context) error {
			_, err := rbac.RoleBindings(cluster).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: named}, metav1.CreateOptions{})
			return err
		}},
		{"bind a role hub-wide", func(ctx context.Context) error {
			_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: named}, metav1.CreateOptions{})
			return err
		}},
		{"request another account's token", func(ctx context.Context) error {
			_, err := core.ServiceAccounts(controllerNamespace).CreateToken(ctx, controllerDeployment, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			return err
		}},
		{"label a cluster", func(ctx context.Context) error {
			_, err := account.dynamic.Resource(clusterGroup("v1", "managedclusters")).Patch(ctx, cluster, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}},
		{"write an agent's report", func(ctx context.Context) error {
			_, err := account.dynamic.Resource(configMapMirrors).Namespace(cluster).Patch(ctx, addonName, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
			return err
		}},
		{"enable an add-on", func(ctx context.Context) error {
			_, err := account.dynamic.Resource(addonV1alpha1).Namespace(cluster).Patch(ctx, addonName, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}},
		{"deploy a program to a cluster", func(ctx context.Context) error {
			_, err := account.dynamic.Resource(manifestWorks).Namespace(cluster).List(ctx, metav1.ListOptions{})
			return err
		}},
	}...)
}

// mayNotWrite checks that the controller's account may not write ConfigMaps in the namespaces of the clusters: the
// add-on is not enabled on them.
func (e *environment) mayNotWrite(ctx context.Context) error {
	var errs []error
	for _, c := range e.clusters {
		answer, err := e.hub.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + controllerNamespace + ":" + setController,
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + controllerNamespace, "system:authenticated"},
				ResourceAttributes: &attributes{Namespace: c.name, Resource: "configmaps", Verb: "create"},
			},
		}, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed {
			err = fmt.Errorf("%s may create ConfigMaps in namespace %s: %s", setController, c.name, answer.Status.Reason)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
