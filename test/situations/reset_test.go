//go:build situations

package situations

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reset makes the cluster one that has joined, without the add-on, and without
// ConfigMaps on the hub.
func (c *cluster) reset(t *testing.T) {
	t.Helper()
	eventually(t, "the cluster has joined", c.joined)
	eventually(t, "the registration agent runs", c.hasProcess)
	c.disable(t)
	c.removeUsedRequests(t)
	data, err := dataOf(t.Context(), c.hub, c.name, "")
	must(t, "list ConfigMaps", err)
	for name := range data {
		c.drop(t, name)
	}
}

// explain logs what a person would look at first.
func (c *cluster) explain(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	if addOn, err := c.hub.dynamic.Resource(addonResource).Namespace(c.name).Get(ctx, addonName, metav1.GetOptions{}); err == nil {
		t.Logf("status of the add-on: %v", addOn.Object["status"])
	}
	if found, err := c.hub.dynamic.Resource(clusterResource).Get(ctx, c.name, metav1.GetOptions{}); err == nil {
		t.Logf("ManagedCluster: spec %v, status %v", found.Object["spec"], found.Object["status"])
	}
	pods, err := c.agentPods(ctx)
	if err != nil {
		t.Logf("no pods: %v", err)
	}
	for _, pod := range pods {
		log, err := c.home.CoreV1().Pods(c.install).GetLogs(pod.Name, nil).DoRaw(ctx)
		t.Logf("log of pod %s (%v):\n%s", pod.Name, err, log)
	}
}
