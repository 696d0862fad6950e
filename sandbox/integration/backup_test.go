//go:build sandbox

package integration

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// TestSnapshotAndRestore checks that a restored cluster has what it had at its
// snapshot, and that a client which was connected learns so and goes on.
func TestSnapshotAndRestore(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=1")
	seen := s.configMaps("cluster1")
	file := filepath.Join(t.TempDir(), "backup.db")
	create := func(name string) { s.must("cluster1", "create", "configmap", name, "-n", "default") }
	do := func(command string) {
		t.Helper()
		if out, err := s.run(t.Context(), command, "cluster1", file); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}

	create("one")
	do("snapshot")
	create("two")
	seen.are(t, "one", "two")
	do("restore")
	seen.are(t, "one")
	create("three")
	seen.are(t, "one", "three")

	// The same snapshot a second time: the revision must not go back.
	do("restore")
	seen.are(t, "one")
	create("four")
	seen.are(t, "four", "one")

	if out, err := s.run(t.Context(), "restore", "cluster1", file+".missing"); err == nil {
		t.Errorf("restore of a file that is not there succeeds:\n%s", out)
	}
	s.must("cluster1", "get", "--raw", "/readyz")
}

// configMaps are those of the namespace default that a connected client knows.
type configMaps struct {
	lister listers.ConfigMapNamespaceLister
}

func (s *sandbox) configMaps(cluster string) configMaps {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, cluster+".kubeconfig"))
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	known := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
	factory.Start(s.t.Context().Done())
	factory.WaitForCacheSync(s.t.Context().Done())
	return configMaps{known}
}

// are waits until the client knows the ConfigMaps and no others of the test.
func (c configMaps) are(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		all, err := c.lister.List(labels.Everything())
		if err != nil {
			t.Fatal(err)
		}
		if got = names(all); slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("after a minute the client knows %v, want %v", got, want)
}

func names(all []*corev1.ConfigMap) []string {
	var found []string
	for _, one := range all {
		if one.Name != "kube-root-ca.crt" {
			found = append(found, one.Name)
		}
	}
	slices.Sort(found)
	return found
}
