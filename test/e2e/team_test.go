//go:build e2e && replicaset

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const (
	// chosenLabel on a ManagedCluster names the Placement that selects the cluster, and canaryLabel makes it one
	// of the decision group canary.
	chosenLabel = suiteLabel + "-chosen"
	canaryLabel = suiteLabel + "-canary"
	// regionLabel and claimName are what values refer to. No cluster has absentLabel.
	regionLabel = suiteLabel + "-region"
	absentLabel = suiteLabel + "-absent"
	claimName   = "region.e2e.helloworld.open-cluster-management.io"
)

var (
	clusterGroup = func(version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: version, Resource: resource}
	}
	clusterSets    = clusterGroup("v1beta2", "managedclustersets")
	setBindings    = clusterGroup("v1beta2", "managedclustersetbindings")
	placements     = clusterGroup("v1beta1", "placements")
	clusterClaims  = clusterGroup("v1alpha1", "clusterclaims")
	replicaSets    = schema.GroupVersionResource{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapreplicasets"}
	controllerRevs = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	manifestWorks  = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
	getOptions     = metav1.GetOptions{}
)

// team is a namespace of the hub, and the client of who works there.
type team struct {
	*environment
	apiServer
	namespace string
}

const bindingManifest = `{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding,
	metadata: {name: %[1]s}, spec: {clusterSet: %[1]s}}`

// newTeam creates a namespace whose Placements may select the clusters of a set. deleteTeams deletes it.
func (e *environment) newTeam(t *testing.T, namespace, clusterSet string) *team {
	t.Helper()
	_, err := e.hub.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{suiteLabel: "true"}}}, metav1.CreateOptions{})
	must(t, "create the team's namespace", err)
	e.teams = append(e.teams, namespace)
	tm := &team{environment: e, apiServer: e.hub.apiServer, namespace: namespace}
	must(t, "bind the cluster set", tm.apply(t.Context(), setBindings, clusterSet, fmt.Sprintf(bindingManifest, clusterSet)))
	return tm
}

// deleteTeams deletes the teams' namespaces, and waits until they are gone: the sets in them remove what they wrote.
func (e *environment) deleteTeams(ctx context.Context) error {
	namespaces := e.hub.kube.CoreV1().Namespaces()
	teams := []string{allClustersTeam, firstHalfTeam, secondHalfTeam}
	var errs []error
	for _, name := range teams {
		errs = append(errs, ignoreNotFound(namespaces.Delete(ctx, name, metav1.DeleteOptions{})))
	}
	for _, name := range teams {
		errs = append(errs, poll(ctx, deadline, func(ctx context.Context) error {
			_, err := namespaces.Get(ctx, name, getOptions)
			return gone("namespace "+name, err)
		}))
	}
	return errors.Join(errs...)
}

// apply creates or changes an object of the team's namespace. A field that the API does not know is an error.
func (tm *team) apply(ctx context.Context, resource schema.GroupVersionResource, name, manifest string) error {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		return fmt.Errorf("parse %s %s: %w", resource.Resource, name, err)
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = tm.dynamic.Resource(resource).Namespace(tm.namespace).Patch(ctx, name, types.ApplyPatchType, raw,
		metav1.PatchOptions{FieldManager: "helloworld-e2e", FieldValidation: metav1.FieldValidationStrict})
	return err
}

func (tm *team) deleteObject(ctx context.Context, resource schema.GroupVersionResource, name string) error {
	return ignoreNotFound(tm.dynamic.Resource(resource).Namespace(tm.namespace).Delete(ctx, name, metav1.DeleteOptions{}))
}

// placementManifest selects clusters by chosenLabel. Its arguments are the name, the label's value and the decisionGroups.
const placementManifest = `
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: %[1]s}
spec:
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {` + chosenLabel + `: %[2]s}}}}]
  decisionStrategy: {groupStrategy: {decisionGroups: [%[3]s]}}
`

const canaryGroup = `{groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {` + canaryLabel + `: "true"}}}}`

// place creates a Placement that selects the clusters, and waits until it has decided. The canary, if there is one,
// is the decision group of that name.
func (tm *team) place(t *testing.T, name string, canary *cluster, clusters ...*cluster) {
	t.Helper()
	group := ""
	if canary != nil {
		group = canaryGroup
		tm.labelCluster(t, canary, canaryLabel, "true")
	}
	cleanup(t, "delete the Placement", func(ctx context.Context) error { return tm.deleteObject(ctx, placements, name) })
	must(t, "create the Placement", tm.apply(t.Context(), placements, name, fmt.Sprintf(placementManifest, name, name, group)))
	for _, c := range clusters {
		tm.labelCluster(t, c, chosenLabel, name)
	}
	eventually(t, "the Placement has decided", tm.decided(name, canary != nil, len(clusters)))
}

// decided checks that the Placement selects so many clusters, and has the decision group canary.
func (tm *team) decided(name string, canary bool, clusters int) check {
	return func(ctx context.Context) error {
		placement, err := tm.hub.cluster.ClusterV1beta1().Placements(tm.namespace).Get(ctx, name, getOptions)
		if err != nil {
			return err
		}
		groups := placement.Status.DecisionGroups
		if int(placement.Status.NumberOfSelectedClusters) != clusters || canary && (len(groups) < 2 || groups[0].DecisionGroupName != "canary") {
			return fmt.Errorf("Placement %s, want %d clusters: %+v", name, clusters, placement.Status)
		}
		return nil
	}
}

// labelCluster labels a ManagedCluster until the end of the test; an empty value removes the label.
func (tm *team) labelCluster(t *testing.T, c *cluster, key, value string) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, key)
		if value != "" {
			patch = fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
		}
		_, err := tm.hub.cluster.ClusterV1().ManagedClusters().Patch(ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	cleanup(t, "take the label off "+c.name, func(ctx context.Context) error { return ignoreNotFound(set(ctx, "")) })
	must(t, "label "+c.name, set(t.Context(), value))
}

// claim gives the cluster the claim claimName until the end of the test, and waits until the hub knows it.
func (tm *team) claim(t *testing.T, c *cluster, value string) {
	t.Helper()
	claims := c.dynamic.Resource(clusterClaims)
	cleanup(t, "delete the claim of "+c.name, func(ctx context.Context) error {
		return ignoreNotFound(claims.Delete(ctx, claimName, metav1.DeleteOptions{}))
	})
	_, err := claims.Apply(t.Context(), claimName, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "ClusterClaim", "spec": map[string]any{"value": value},
		"metadata": map[string]any{"name": claimName},
	}}, metav1.ApplyOptions{FieldManager: "helloworld-e2e", Force: true})
	must(t, "create the claim of "+c.name, err)
	eventually(t, "the hub knows the claim of "+c.name, func(ctx context.Context) error {
		mc, err := tm.hub.cluster.ClusterV1().ManagedClusters().Get(ctx, c.name, getOptions)
		if err != nil {
			return err
		}
		for _, claim := range mc.Status.ClusterClaims {
			if claim.Name == claimName && claim.Value == value {
				return nil
			}
		}
		return fmt.Errorf("the claims are %+v", mc.Status.ClusterClaims)
	})
}

// source creates or changes a ConfigMap of the team.
func (tm *team) source(t *testing.T, name string, data map[string]string) {
	t.Helper()
	client := tm.kube.CoreV1().ConfigMaps(tm.namespace)
	_, err := client.Get(t.Context(), name, getOptions)
	if err == nil {
		_, err = update(t.Context(), tm.apiServer, tm.namespace, name, func(cm *corev1.ConfigMap) { cm.Data = data })
		must(t, "change the source", err)
		return
	}
	_, err = client.Create(t.Context(), configMap(name, data), metav1.CreateOptions{})
	must(t, "create the source", err)
	cleanup(t, "delete the source", func(ctx context.Context) error {
		return ignoreNotFound(client.Delete(ctx, name, metav1.DeleteOptions{}))
	})
}

// Specs of sets. The argument is the name of the source and of the Placement.
const (
	plainSet  = `{configMaps: [{name: %[1]s}], placementRefs: [{name: %[1]s}]}`
	canarySet = `{configMaps: [{name: %[1]s}], placementRefs: [{name: %[1]s, rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {}}}]}`
)

// create creates a set. At the end of the test it is deleted, and nothing is left of it: the Placement and the
// labels of the clusters are cleaned up after it.
func (tm *team) create(t *testing.T, name, spec string) {
	t.Helper()
	cleanup(t, "delete ConfigMapReplicaSet "+name, func(ctx context.Context) error {
		if err := tm.deleteObject(ctx, replicaSets, name); err != nil || t.Failed() {
			return err
		}
		return poll(ctx, deadline, tm.setGone(name))
	})
	must(t, "create ConfigMapReplicaSet "+name, tm.apply(t.Context(), replicaSets, name,
		fmt.Sprintf("{apiVersion: helloworld.open-cluster-management.io/v1alpha1, kind: ConfigMapReplicaSet, metadata: {name: %s, labels: {%s: \"true\"}}, spec: %s}",
			name, suiteLabel, spec)))
}

// change merges a part of the spec, as JSON, into a set.
func (tm *team) change(t *testing.T, name, spec string) {
	t.Helper()
	_, err := tm.dynamic.Resource(replicaSets).Namespace(tm.namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":%s}`, spec), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	must(t, "change ConfigMapReplicaSet "+name, err)
	// A change of a source that follows must not overtake it: the controller watches both.
	eventually(t, "the controller has seen the change", func(ctx context.Context) error {
		s, err := tm.set(ctx, name)
		if err == nil && s.Status.ObservedGeneration != s.Generation {
			err = fmt.Errorf("the status is of generation %d, want %d", s.Status.ObservedGeneration, s.Generation)
		}
		return err
	})
}

// setGone checks that the set is gone.
func (tm *team) setGone(name string) check {
	return func(ctx context.Context) error {
		_, err := tm.dynamic.Resource(replicaSets).Namespace(tm.namespace).Get(ctx, name, getOptions)
		return gone("ConfigMapReplicaSet "+name, err)
	}
}
