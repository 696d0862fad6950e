//go:build e2e

package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
)

// Names that users rely on, written out so that a change of one makes a test fail.
const (
	program       = "klusterlet-addon-lease-controller"
	example       = "lease-example" // the add-on, its lease, Deployment and namespace
	exampleSecret = "lease-example-hub-kubeconfig"

	// leaseSeconds is what test/e2e/lease/apply asks for, and period the shortest
	// time from one renewal to the next.
	leaseSeconds = 2
	period       = leaseSeconds * time.Second
)

type environment struct {
	hub      *api
	addons   addonclient.Interface
	clusters []*cluster
}

type api struct {
	// file is the kubeconfig's, or empty.
	file   string
	config *rest.Config
	kube   kubernetes.Interface
}

// cluster is a managed cluster.
type cluster struct {
	*api
	// name is the cluster's namespace on the hub.
	name string
}

func loadEnvironment(t *testing.T) *environment {
	t.Helper()
	env := &environment{hub: load(t, os.Getenv("HUB_KUBECONFIG"))}
	var err error
	env.addons, err = addonclient.NewForConfig(env.hub.config)
	must(t, "create an add-on client", err)
	for _, pair := range strings.Split(os.Getenv("CLUSTER_KUBECONFIGS"), ",") {
		name, path, ok := strings.Cut(pair, "=")
		if !ok {
			t.Fatalf("CLUSTER_KUBECONFIGS: %q is not name=path", pair)
		}
		env.clusters = append(env.clusters, &cluster{api: load(t, path), name: name})
	}
	slices.SortFunc(env.clusters, func(a, b *cluster) int { return strings.Compare(a.name, b.name) })
	if len(env.clusters) < 2 {
		t.Fatal("CLUSTER_KUBECONFIGS: the scenarios need two clusters")
	}
	return env
}

func load(t *testing.T, path string) *api {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, "read the kubeconfig "+path, err)
	config.Timeout, config.QPS = callTimeout, -1
	a := forConfig(t, config)
	a.file, err = filepath.Abs(path)
	must(t, "find the kubeconfig "+path, err)
	return a
}

func forConfig(t *testing.T, config *rest.Config) *api {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	must(t, "create a client", err)
	return &api{config: config, kube: kube}
}

// run executes one of the commands in the environment.
func run(t *testing.T, variable string) {
	t.Helper()
	command := os.Getenv(variable)
	if command == "" {
		t.Fatalf("%s is not set: give the shell command that does it", variable)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), deadline)
	defer cancel()
	if output, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", variable, err, output)
	}
}

// pod is the example's one.
func (c *cluster) pod(ctx context.Context) (*corev1.Pod, error) {
	list, err := c.kube.CoreV1().Pods(example).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + example})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d pods of the example", len(list.Items))
	}
	return &list.Items[0], nil
}

// isReady is the pod's condition Ready.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// hasEvent checks that a pod has an Event with this reason by the sidecar, after
// the time since. Events have a resolution of a second.
func (c *cluster) hasEvent(namespace, pod, reason string, since time.Time) check {
	return func(ctx context.Context) error {
		list, err := c.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var reasons []string
		for i := range list.Items {
			event := &list.Items[i]
			if event.Source.Component != program || event.InvolvedObject.Name != pod {
				continue
			}
			if event.Reason == reason && !event.LastTimestamp.Time.Before(since.Truncate(time.Second)) {
				return nil
			}
			reasons = append(reasons, event.Reason)
		}
		return fmt.Errorf("no event %s on pod %s, but %v", reason, pod, reasons)
	}
}

// logs are what the sidecar in a pod has said.
func (c *cluster) logs(t *testing.T, namespace, pod string) string {
	t.Helper()
	var raw []byte
	// A kubelet refuses the log of a container of whose start it has not heard yet.
	eventually(t, "the sidecar's log can be read", func(ctx context.Context) (err error) {
		raw, err = c.kube.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: "lease"}).DoRaw(ctx)
		return err
	})
	return string(raw)
}

// restarts of the sidecar.
func restarts(pod *corev1.Pod) int32 {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "lease" {
			return status.RestartCount
		}
	}
	return -1
}

// sameSidecar fails the test when the sidecar was restarted meanwhile.
func sameSidecar(t *testing.T, before, after *corev1.Pod) {
	t.Helper()
	if before.UID != after.UID || restarts(before) != restarts(after) {
		t.Errorf("the sidecar did not go on running: pod %s with %d restarts, then pod %s with %d",
			before.Name, restarts(before), after.Name, restarts(after))
	}
}

var errNotYet = errors.New("not yet")
