package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"open-cluster-management.io/helloworld-addon/sandbox/sandboxtest"
)

// TestMain gives the tests a hub and two managed clusters. A pod with this image runs what is in this directory.
func TestMain(m *testing.M) {
	sandboxtest.Main(m, sandboxtest.Clusters(2), sandboxtest.Image("example.com/my-addon", sandboxtest.GoMain(".")))
}

// TestReports checks that the add-on becomes available on both clusters, and that each reports its nodes.
func TestReports(t *testing.T) {
	s := sandboxtest.Shared(t)
	s.Hub().ApplyFiles(t, "deploy")
	s.Enable(t, name)
	s.WaitAvailable(t, name)

	hub, err := kubernetes.NewForConfig(s.Hub().Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range s.Clusters() {
		sandboxtest.Eventually(t, time.Minute, func(ctx context.Context) error {
			configMap, err := hub.CoreV1().ConfigMaps(cluster.Name()).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := configMap.Data["nodes"]; got != "1" {
				return fmt.Errorf("%s reports %q nodes, want 1", cluster.Name(), got)
			}
			return nil
		})
	}
}
