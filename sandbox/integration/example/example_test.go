//go:build sandbox

// Package example tests a small add-on on a sandbox, as the tests of any add-on can.
package example

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/sandboxtest"
)

const namespace = "open-cluster-management-agent-addon"

func TestMain(m *testing.M) {
	sandboxtest.Main(m, sandboxtest.Clusters(2), sandboxtest.Image("example.com/greeter", sandboxtest.GoMain("./greeter")))
}

func TestGreeting(t *testing.T) {
	s := sandboxtest.Shared(t)
	s.Hub().ApplyFiles(t, "addon.yaml")
	s.Enable(t, "greeter")
	s.WaitAvailable(t, "greeter")
	for _, cluster := range s.Clusters() {
		pod := agent(t, cluster)
		log, err := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if want := "hello from " + cluster.Name() + "\n"; err != nil || string(log) != want {
			t.Errorf("the log on %s is %q, %v, want %q", cluster.Name(), log, err, want)
		}
	}
}

// TestDetached deletes the agent of a cluster that is cut off from its hub: another one starts, without the
// hub.
func TestDetached(t *testing.T) {
	s := sandboxtest.Shared(t)
	s.Hub().ApplyFiles(t, "addon.yaml")
	s.Enable(t, "greeter", "cluster2")
	s.WaitAvailable(t, "greeter", "cluster2")
	cluster := s.Cluster(t, "cluster2")
	before := agent(t, cluster)
	cluster.Cut(t)
	t.Cleanup(func() { cluster.Mend(t) })
	if err := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().Pods(namespace).Delete(t.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Eventually(t, time.Minute, func(context.Context) error {
		if after := agent(t, cluster); after.UID == before.UID || after.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the agent is %s (%s)", after.Name, after.Status.Phase)
		}
		return nil
	})
}

// agent returns the add-on's pod on a cluster.
func agent(t *testing.T, cluster *sandboxtest.Cluster) corev1.Pod {
	t.Helper()
	var pods *corev1.PodList
	sandboxtest.Eventually(t, time.Minute, func(ctx context.Context) (err error) {
		pods, err = kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=greeter"})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("%d pods, want 1", len(pods.Items))
		}
		return err
	})
	return pods.Items[0]
}
