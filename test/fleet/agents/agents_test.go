package agents

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

// container is the one of the agent's Deployment.
func container(args ...string) corev1.Container {
	return corev1.Container{Command: []string{"helloworld-agent"}, Args: append([]string{"--cluster-name=cluster1", "--namespace=default",
		"--hub-kubeconfig-secret=helloworld-hub-kubeconfig", "--health-bind-address=:8081", "--pod-name=p", "--pod-uid=u"}, args...)}
}

func TestOptions(t *testing.T) {
	cluster := fleet.Cluster{Name: "cluster1", Container: container("--deletion-hold=2m", "--v=4")}
	options, err := options(cluster)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{options.ClusterName, options.PodName, options.DeletionHold, options.HealthBindAddress, options.MetricsBindAddress, options.Trim != nil}
	if diff := cmp.Diff([]any{"cluster1", "p", 2 * time.Minute, "0", "0", true}, got); diff != "" {
		t.Errorf("the Deployment's arguments, without ports, trimming and log level of a process (-want +got):\n%s", diff)
	}
	if len(cluster.Container.Args) != 8 {
		t.Errorf("the container's arguments were changed: %q", cluster.Container.Args)
	}
	cluster.Container = container("--no-such-flag")
	if err := Agent(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("a wrong argument: got %v", err)
	}
}

// scene is a hub, a managed cluster, and the agent with the floor.
type scene struct {
	hub, managed *fakeapi.Server
	cluster      fleet.Cluster
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ca := fakepki.New(t)
	s := &scene{hub: runtest.NewHub(t, ca, nil), managed: runtest.NewAPI(t)}
	data := map[string][]byte{"kubeconfig": []byte(ca.Kubeconfig(s.hub.HTTP().URL)), "cluster-name": []byte("cluster1")}
	data["tls.crt"], data["tls.key"] = ca.Fresh()
	s.managed.Put("secrets", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "helloworld-hub-kubeconfig", Namespace: "default"}, Data: data})
	s.hub.Put("managedclusteraddons", &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1",
		Finalizers: []string{"addon.open-cluster-management.io/addon-pre-delete"}}})
	s.cluster = fleet.Cluster{Name: "cluster1", Namespace: "default", Managed: s.managed.Config(),
		Kubeconfig: runtest.Kubeconfig(t, s.managed), Container: container()}
	return s
}

func (s *scene) source(name string, labels map[string]string) {
	s.hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cluster1", Labels: labels}})
}

// writer returns who has written the copy, empty if there is none.
func (s *scene) writer(name string) string {
	object := s.managed.Get("configmaps", "default", name)
	if object == nil {
		return ""
	}
	return object.GetLabels()["app.kubernetes.io/managed-by"]
}

// floorsCopy is much longer than the floor needs for a copy from and to servers of this process.
const floorsCopy = 300 * time.Millisecond

// TestWithFloor: both copy with the add-on's credentials, each what is its own, and the agent
// goes on when the floor ends.
func TestWithFloor(t *testing.T) {
	s := newScene(t)
	floors := map[string]string{"helloworld.open-cluster-management.io/sync": "disabled"}
	s.source("a", nil)
	s.source("b", floors)
	floorCtx, end := context.WithCancel(t.Context())
	defer end()
	stop := runtest.Start(t, func(ctx context.Context) error { return WithFloor(floorCtx)(ctx, s.cluster) })
	wait := func(name, writer string) {
		t.Helper()
		runtest.Eventually(t, name+" is copied by "+writer, func() bool { return s.writer(name) == writer },
			func() string { return "by " + s.writer(name) })
	}
	wait("a", "helloworld-agent")
	wait("b", "helloworld-bench-floor")
	s.source("c", nil)
	s.source("d", floors)
	wait("c", "helloworld-agent")
	wait("d", "helloworld-bench-floor")

	end()
	n := 0
	runtest.Eventually(t, "the floor has ended", func() bool {
		n++
		name := fmt.Sprint("floors", n)
		s.source(name, floors)
		time.Sleep(floorsCopy)
		return s.writer(name) == ""
	}, func() string { return "it goes on" })
	s.source("e", nil)
	wait("e", "helloworld-agent")
	if last := fmt.Sprint("floors", n); s.writer(last) != "" {
		t.Errorf("%s is copied by %s after the end of the floor", last, s.writer(last))
	}

	s.hub.Remove("managedclusteraddons", "cluster1", "helloworld")
	hook := s.cluster
	hook.Container = corev1.Container{Command: []string{"helloworld-agent", "uninstall"}, Args: []string{"--cluster-name=cluster1",
		"--namespace=default", "--addon-uid=" + string(s.hub.Get("managedclusteraddons", "cluster1", "helloworld").GetUID())}}
	if err := Uninstall(t.Context(), hook); err != nil {
		t.Error(err)
	}
	if s.writer("a") != "" || s.writer("c") != "" {
		t.Error("the hook has left copies")
	}
	stop()
}
