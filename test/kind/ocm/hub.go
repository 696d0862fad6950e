package ocm

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	hubchart "open-cluster-management.io/ocm/deploy/cluster-manager/chart"
)

const (
	// hubNamespace is where the operator runs the hub's controllers.
	hubNamespace = "open-cluster-management-hub"

	// hubTimeout is a guard; on two cores it takes 10 to 20 s, and longer where
	// images have to be pulled.
	hubTimeout = 5 * time.Minute
)

var clusterManagers = schema.GroupVersionResource{
	Group: "operator.open-cluster-management.io", Version: "v1", Resource: "clustermanagers",
}

// hubValues are the chart's: one operator, clusters that join with the
// bootstrap account's token are accepted without a person.
func hubValues(images Images) map[string]any {
	return map[string]any{
		"replicaCount":      1,
		"createBootstrapSA": true,
		"images":            images.values(),
		"clusterManager": map[string]any{
			"registrationConfiguration": map[string]any{
				"featureGates": []any{
					map[string]any{"feature": "DefaultClusterSet", "mode": "Enable"},
					map[string]any{"feature": "ManagedClusterAutoApproval", "mode": "Enable"},
				},
			},
		},
	}
}

// InstallHub makes the cluster a hub and returns when its controllers run.
func InstallHub(ctx context.Context, hub Cluster, images Images) error {
	loaded, err := loadChart(hubchart.ChartFiles, hubchart.ChartName)
	if err != nil {
		return err
	}
	if err := release(ctx, hub.Kubeconfig, hubchart.ChartName, loaded, hubValues(images)); err != nil {
		return fmt.Errorf("%s: %w", hub.Name, err)
	}
	client, err := connect(hub)
	if err != nil {
		return err
	}
	return waitFor(ctx, hubTimeout, "OCM's controllers on "+hub.Name, client.hubState)
}

// hubState is nil when the operator has applied everything and every
// controller of the hub is available.
func (c *client) hubState(ctx context.Context) error {
	manager, err := c.dynamic.Resource(clusterManagers).Get(ctx, "cluster-manager", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if reason := notTrue(manager, "Applied"); reason != "" {
		return fmt.Errorf("ClusterManager: %s", reason)
	}
	list, err := c.kube.AppsV1().Deployments(hubNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("no Deployment in %s yet", hubNamespace)
	}
	if waiting := unavailable(list.Items); len(waiting) > 0 {
		return fmt.Errorf("not available: %s", strings.Join(waiting, ", "))
	}
	return nil
}

// unavailable are the names of the Deployments that are not rolled out.
func unavailable(deployments []appsv1.Deployment) []string {
	var names []string
	for i := range deployments {
		d := &deployments[i]
		want := int32(1)
		if d.Spec.Replicas != nil {
			want = *d.Spec.Replicas
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < want || d.Status.AvailableReplicas < want {
			names = append(names, d.Name)
		}
	}
	return names
}

// notTrue says what is missing for the condition to be true, or nothing.
func notTrue(object *unstructured.Unstructured, conditionType string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, ok := entry.(map[string]any)
		if !ok || condition["type"] != conditionType {
			continue
		}
		if condition["status"] == "True" {
			return ""
		}
		return fmt.Sprintf("%s is %v: %v", conditionType, condition["status"], condition["message"])
	}
	return conditionType + " is not there yet"
}
