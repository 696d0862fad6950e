//go:build sandbox

package smoke

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/bench"
	"open-cluster-management.io/helloworld-addon/test/fleet/steps"
)

const clusters = 5

// TestFleet takes a fleet through its life: the clusters join, a Placement enables the add-on, a change
// is copied everywhere, a cluster that is cut off catches up, a cluster is detached and another one joins,
// ConfigMapReplicaSets write to the clusters, the uninstall hooks run, and nothing is left in the end.
func TestFleet(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	options := bench.Options{
		Clusters: clusters, Out: t.Output(), Times: bench.Smoke(clusters), JSON: filepath.Join(t.TempDir(), "fleet.json"), Keep: true,
		Sandbox: []string{filepath.Join(root, "bin", "ocm-sandbox"), "--programs=" + filepath.Join(root, "bin", "sandbox"), "--module=" + filepath.Join(root, "sandbox", "programs")},
		Agents:  filepath.Join(root, "bin", "fleet-agents"), Controller: filepath.Join(root, "bin", "helloworld-controller"),
		ReplicaSets: filepath.Join(root, "bin", "helloworld-replicaset-controller"), Deploy: filepath.Join(root, "deploy"), Module: filepath.Join(root, "sandbox", "programs"), Root: root,
	}
	options.Times.Cut, options.Times.Idle = 5*time.Second, 0
	options.Lease = 2 * time.Minute
	options.Try = func(ctx context.Context, f *steps.Fleet, _ time.Duration) error {
		dir = f.Dir
		f.Subject.Args = append(f.Subject.Args, steps.Distribution) // so the controllers need no restart for it
		for _, step := range []func(context.Context, *steps.Fleet) error{
			steps.Deploy, steps.EnableOnly, steps.Changed, steps.Cut, steps.Turnover, steps.Changed, steps.Distribute, steps.Disable,
		} {
			if err := step(ctx, f); err != nil {
				return err
			}
		}
		return leases(ctx, f, options.Lease, clusters) // also of the one that has joined later
	}
	// the aims of the figures count as well: no copy on a cluster that is cut off, nothing left of one
	// that is detached
	if err := bench.Run(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the sandbox's directory %s is still there: %v", dir, err)
	}
	if pid, err := procfs.Supervisor(dir); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("the sandbox's process %d is still there: %v", pid, err)
	}
}

// leases returns an error when not as many clusters have this period of their leases.
func leases(ctx context.Context, f *steps.Fleet, period time.Duration, want int) error {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(f.Dir, "hub.kubeconfig"))
	if err != nil {
		return err
	}
	client, err := clusterclient.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := client.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	got := 0
	for i := range list.Items {
		if list.Items[i].Spec.LeaseDurationSeconds == int32(period.Seconds()) {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d clusters renew their leases every %s, want %d", got, period, want)
	}
	return nil
}
