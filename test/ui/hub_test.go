//go:build ui

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	clusters   = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	decisions  = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placementdecisions"}
	addOns     = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons"}
	mirrors    = schema.GroupVersionResource{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapmirrors"}
	sets       = schema.GroupVersionResource{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapreplicasets"}
)

const addOnName = "helloworld"

// A hub is one whose objects the test writes.
type hub struct {
	client     dynamic.Interface
	kubeconfig string
}

func newHub(t *testing.T, kubeconfig string) *hub {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &hub{client: client, kubeconfig: kubeconfig}
}

// A member is a cluster as a test wants it on the hub.
type member struct {
	name, clusterSet string
	labels           map[string]string
	// conditions are those of the ManagedClusterAddOn beside Available and ConfigMapsSynced, or in their place.
	conditions []any
	// lost is a cluster that the hub no longer hears of, disabled one without the add-on.
	lost, disabled bool
	// total is the number of ConfigMaps, notSynced are those that are not synced.
	total     int
	notSynced []any
}

// longAgo is a time that the page shows in whole days, for some hours to come.
var longAgo = metav1.NewTime(time.Now().Add(-75 * time.Hour)).UTC().Format(time.RFC3339)

func condition(kind, status, reason, message string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": longAgo}
}

func notSynced(name, state, message string) map[string]any {
	return map[string]any{"name": name, "state": state, "message": message, "since": longAgo}
}

func object(resource schema.GroupVersionResource, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	if namespace != "" {
		u.SetNamespace(namespace)
	}
	u.SetAPIVersion(resource.GroupVersion().String())
	u.SetKind(kind)
	for key, value := range fields {
		u.Object[key] = value
	}
	return u
}

// create creates an object, and keeps one that is there. Its status is what it is given.
func (h *hub) create(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured, status map[string]any) error {
	client := h.client.Resource(resource).Namespace(o.GetNamespace())
	if _, err := client.Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if status == nil {
		return nil
	}
	return h.patch(ctx, resource, o.GetNamespace(), o.GetName(), map[string]any{"status": status}, "status")
}

func (h *hub) patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, patch map[string]any, subresources ...string) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = h.client.Resource(resource).Namespace(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
	return err
}

// put writes a cluster and its add-on.
func (h *hub) put(ctx context.Context, m member) error {
	labels := map[string]any{}
	for key, value := range m.labels {
		labels[key] = value
	}
	if m.clusterSet != "" {
		labels["cluster.open-cluster-management.io/clusterset"] = m.clusterSet
	}
	cluster := object(clusters, "ManagedCluster", "", m.name, map[string]any{"spec": map[string]any{"hubAcceptsClient": true}})
	cluster.Object["metadata"].(map[string]any)["labels"] = labels
	available := condition("ManagedClusterConditionAvailable", "True", "ManagedClusterAvailable", "Managed cluster is available")
	if m.lost {
		available = condition("ManagedClusterConditionAvailable", "Unknown", "ManagedClusterLeaseUpdateStopped", "Registration agent stopped updating its lease.")
	}
	if err := h.create(ctx, namespaces, object(namespaces, "Namespace", "", m.name, nil), nil); err != nil {
		return err
	}
	if err := h.create(ctx, clusters, cluster, map[string]any{"conditions": []any{available,
		condition("HubAcceptedManagedCluster", "True", "HubClusterAdminAccepted", "Accepted by hub cluster admin"),
		condition("ManagedClusterJoined", "True", "ManagedClusterJoined", "Managed cluster joined")}}); err != nil || m.disabled {
		return err
	}
	conditions := m.conditions
	for _, usual := range []map[string]any{
		condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "helloworld add-on is available."),
		condition("ConfigMapsSynced", "True", "Synced", fmt.Sprintf("%d of %d ConfigMaps are synced", m.total, m.total)),
	} {
		replaced := false
		for _, c := range m.conditions {
			replaced = replaced || c.(map[string]any)["type"] == usual["type"]
		}
		if !replaced {
			conditions = append(conditions, usual)
		}
	}
	addOn := object(addOns, "ManagedClusterAddOn", m.name, addOnName, map[string]any{"spec": map[string]any{}})
	if err := h.create(ctx, addOns, addOn, map[string]any{"conditions": conditions}); err != nil {
		return err
	}
	status := map[string]any{"total": m.total, "synced": m.total - len(m.notSynced), "configMaps": m.notSynced}
	return h.create(ctx, mirrors, object(mirrors, "ConfigMapMirror", m.name, addOnName, nil), status)
}

// putAll writes clusters, some at a time.
func (h *hub) putAll(t *testing.T, members []member) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for _, m := range members {
		group.Go(func() error {
			if err := h.put(ctx, m); err != nil {
				return fmt.Errorf("write cluster %s: %w", m.name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a cluster's add-on and itself.
func (h *hub) remove(t *testing.T, name string) {
	t.Helper()
	for _, err := range []error{
		h.client.Resource(mirrors).Namespace(name).Delete(t.Context(), addOnName, metav1.DeleteOptions{}),
		h.client.Resource(addOns).Namespace(name).Delete(t.Context(), addOnName, metav1.DeleteOptions{}),
		h.client.Resource(clusters).Delete(t.Context(), name, metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// smallFleet has a cluster in each state that a person meets.
func smallFleet() []member {
	eu, us, test := map[string]string{"region": "eu", "stage": "production"}, map[string]string{"region": "us", "stage": "production"}, map[string]string{"stage": "test"}
	failing := func(reason, message string) []any {
		return []any{condition("ConfigMapsSynced", "False", reason, message)}
	}
	return []member{
		{name: "berlin", clusterSet: "europe", labels: eu, total: 20},
		{name: "lisbon", clusterSet: "europe", labels: eu, total: 20},
		{name: "oslo", clusterSet: "europe", labels: eu, total: 20},
		{name: "paris", clusterSet: "europe", labels: eu, total: 12, conditions: failing("Conflict", "1 conflict: \"settings\""),
			notSynced: []any{notSynced("settings", "Conflict", "ConfigMap default/settings belongs to somebody else: rename one of the two")}},
		{name: "austin", clusterSet: "americas", labels: us, total: 20},
		{name: "boston", clusterSet: "americas", labels: us, total: 20, lost: true},
		{name: "denver", clusterSet: "americas", labels: us, total: 20, conditions: []any{
			condition("Available", "False", "ManagedClusterAddOnLeaseUpdateStopped", "helloworld add-on is not available.")}},
		{name: "quito", clusterSet: "americas", labels: us, total: 9, conditions: failing("DeletionHeld", "9 deletions are held"),
			notSynced: []any{}},
		{name: "staging-1", labels: test, total: 8, conditions: []any{condition("ConfigMapsSynced", "False", "Pending", "7 of 8 ConfigMaps are synced")},
			notSynced: []any{notSynced("limits", "Pending", "")}},
		{name: "staging-2", labels: test, conditions: []any{
			condition("ConfigurationValid", "False", "Invalid", "variable copyLimit: \"lots\" is no number")}},
		{name: "staging-3", labels: test, disabled: true},
		{name: "staging-4", labels: test, conditions: []any{condition("Degraded", "True", "PodsNotReady", "the agent's Deployment has no ready pod")}},
	}
}

// rollouts writes a ConfigMapReplicaSet that waits for its first group, and the decisions of its Placement.
func (h *hub) rollouts(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	set := object(sets, "ConfigMapReplicaSet", "default", "settings", map[string]any{"spec": map[string]any{
		"configMaps": []any{map[string]any{"name": "settings"}}, "placementRefs": []any{map[string]any{"name": "all"}},
	}})
	counts := func(total, synced int) map[string]any {
		return map[string]any{"total": total, "updated": synced, "synced": synced, "failed": 0, "timedOut": 0}
	}
	rolledOut := condition("RolledOut", "False", "Progressing", "waits for 1 cluster of the group canary")
	rolledOut["observedGeneration"] = 1
	status := map[string]any{
		"observedGeneration": 1, "summary": counts(3, 1), "conditions": []any{rolledOut},
		"placements": []any{map[string]any{"name": "all", "summary": counts(3, 1), "groups": []any{
			map[string]any{"index": 0, "name": "canary", "summary": counts(1, 1)},
			map[string]any{"index": 1, "name": "rest", "summary": counts(2, 0)},
		}}},
	}
	if err := h.create(ctx, sets, set, status); err != nil {
		t.Fatal(err)
	}
	for group, members := range map[string][]string{"canary": {"berlin"}, "rest": {"lisbon", "oslo"}} {
		decision := object(decisions, "PlacementDecision", "default", "all-"+group, nil)
		decision.SetLabels(map[string]string{"cluster.open-cluster-management.io/placement": "all",
			"cluster.open-cluster-management.io/decision-group-name": group})
		var chosen []any
		for _, name := range members {
			chosen = append(chosen, map[string]any{"clusterName": name, "reason": ""})
		}
		if err := h.create(ctx, decisions, decision, map[string]any{"decisions": chosen}); err != nil {
			t.Fatal(err)
		}
	}
}
