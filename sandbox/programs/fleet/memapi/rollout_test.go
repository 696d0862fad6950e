package memapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// states returns what a watch shows of a Deployment until the generation is available.
func (c *cluster) states(t *testing.T, name string, generation int64, change func()) []string {
	t.Helper()
	watch, err := c.kube.AppsV1().Deployments("default").Watch(t.Context(), metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	change()
	var seen []string
	for event := range watch.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		text := "no status"
		for _, condition := range d.Status.Conditions {
			if condition.Type == appsv1.DeploymentProgressing {
				text = fmt.Sprintf("%d/%d/%d %s", d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas, condition.Reason)
			}
		}
		if d.Status.ObservedGeneration != d.Generation && text != "no status" {
			text = "not observed"
		}
		if len(seen) == 0 || seen[len(seen)-1] != text {
			seen = append(seen, text)
		}
		if d.Status.ObservedGeneration == generation && text == "1/1/1 NewReplicaSetAvailable" {
			break
		}
	}
	return seen
}

// TestRolloutStates: OCM's work agent reports each state to the hub, so a Deployment that
// becomes available at once would make fewer requests than a real one. The states are
// replicas/updated/available and the reason of Progressing, as Kubernetes v1.34 writes them.
func TestRolloutStates(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		sets := c.kube.AppsV1().Deployments("default")
		for _, test := range []struct {
			strategy appsv1.DeploymentStrategyType
			update   []string
		}{
			{appsv1.RecreateDeploymentStrategyType, []string{"not observed", "1/0/1 ReplicaSetUpdated", "0/0/0 ReplicaSetUpdated",
				"0/0/0 NewReplicaSetCreated", "1/1/0 ReplicaSetUpdated", "1/1/1 NewReplicaSetAvailable"}},
			{appsv1.RollingUpdateDeploymentStrategyType, []string{"not observed", "1/0/1 NewReplicaSetCreated",
				"1/1/0 ReplicaSetUpdated", "1/1/1 NewReplicaSetAvailable"}},
		} {
			d := deployment(strings.ToLower(string(test.strategy)), "image:1")
			d.Spec.Strategy.Type = test.strategy
			got := c.states(t, d.Name, 1, func() {
				if _, err := sets.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			})
			want := []string{"no status", "0/0/0 NewReplicaSetCreated", "1/1/0 ReplicaSetUpdated", "1/1/1 NewReplicaSetAvailable"}
			if !slices.Equal(got, want) {
				t.Errorf("%s, created: got %q, want %q", test.strategy, got, want)
			}
			got = c.states(t, d.Name, 2, func() {
				patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"` + d.Spec.Template.Spec.Containers[0].Name + `","image":"image:2"}]}}}}`)
				if _, err := sets.Patch(t.Context(), d.Name, "application/strategic-merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			})
			if i := slices.Index(got, "not observed"); i < 0 || !slices.Equal(got[i:], test.update) {
				t.Errorf("%s, updated: got %q, want %q", test.strategy, got, test.update)
			}
		}
	})
}
