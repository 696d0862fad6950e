//go:build sandbox

package node

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/network"
	"open-cluster-management.io/helloworld-addon/sandbox/process"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// cluster is a real control plane with a real node on it.
type cluster struct {
	client     kubernetes.Interface
	kubeconfig string
	programs   string
	logs       string
	control    *controlplane.Cluster
	options    Options
	stopNode   func()
}

// TestNode runs real pods: by the controllers, the scheduler and the API server
// of Kubernetes, on a node of this package.
func TestNode(t *testing.T) {
	c := startCluster(t)
	t.Run("Deployment", c.testDeployment)
	t.Run("Job", c.testJob)
	t.Run("missing Secret", c.testMissingSecret)
	t.Run("crash loop", c.testCrashLoop)
	t.Run("refused", c.testRefused)
	t.Run("unknown image", c.testUnknownImage)
	t.Run("exec", c.testExec)
	t.Run("attach", c.testAttach)
	t.Run("exec probe", c.testExecProbe)
	t.Run("hooks", c.testHooks)
	t.Run("deletion", c.testDeletion)
	t.Run("restart of the node", c.testNodeRestart)
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	programs, err := filepath.Abs(os.Getenv("SANDBOX_PROGRAMS"))
	if err != nil || os.Getenv("SANDBOX_PROGRAMS") == "" {
		t.Fatalf("SANDBOX_PROGRAMS does not name the directory with the sandbox's programs (%v): run this by make test-sandbox", err)
	}
	gateway := netip.MustParsePrefix("10.201.0.1/24")
	bridge, err := network.NewBridge("node0", gateway)
	if err != nil {
		t.Fatal(err)
	}
	control, err := controlplane.New(controlplane.Options{
		Name: "test", Dir: t.TempDir(), Programs: programs, Address: gateway.Addr().String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := control.Run(ctx, func(err *process.LoopError) { t.Error(err) }); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	if err := control.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	options := nodeOptions(t, control, bridge, gateway.Addr())
	client, err := kubernetes.NewForConfig(control.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{client: client, control: control, programs: programs, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), logs: options.LogDir, options: options}
	c.startNode(t)
	t.Cleanup(func() { c.stopNode() })
	writeKubeconfig(t, c.kubeconfig, control)
	eventually(t, "the node is ready", func() error {
		node, err := client.CoreV1().Nodes().Get(t.Context(), "worker", metav1.GetOptions{})
		if err == nil && len(node.Spec.Taints) > 0 {
			err = fmt.Errorf("taints: %v", node.Spec.Taints)
		}
		return err
	})
	eventually(t, "the default service account is there", func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return c
}

// startNode starts the node; stopNode ends it and waits for that.
func (c *cluster) startNode(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Run(ctx, c.options); err != nil {
			t.Error(err)
		}
	}()
	c.stopNode = func() { cancel(); <-done }
}

func nodeOptions(t *testing.T, control *controlplane.Cluster, bridge *network.Bridge, address netip.Addr) Options {
	t.Helper()
	config, err := control.ClientFor("system:node:worker", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := control.Authority.Serving("kubelet", address.String())
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Name: "worker", Config: config, StateDir: t.TempDir(), LogDir: t.TempDir(),
		Images: testImages{imageDir(t)}, Runtime: testRuntime{}, Network: testBridge{bridge},
		Address: address, Port: controlplane.KubeletPort,
		CertFile: serving.CertFile, KeyFile: serving.KeyFile, ClientCAFile: control.Authority.CertFile(),
		APIServer: netip.AddrPortFrom(address, controlplane.APIPort),
		BackOff:   plan.BackOff{Initial: 2 * time.Second, Max: 10 * time.Second},
	}
}

// imageDir is an image with this program in it.
func imageDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "usr", "local", "bin")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.MkdirAll(bin, 0o755)
	}
	for _, name := range []string{probeProgram, tarProgram} {
		if err == nil {
			err = os.WriteFile(filepath.Join(bin, name), self, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// imageUID is whom a pod's program finds itself to be: in a user namespace of one
// user that user.
func imageUID(t *testing.T) int {
	t.Helper()
	table, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(string(table)); fields[len(fields)-1] == "1" {
		return 0
	}
	return 65532
}

// kubectl runs the real one.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(c.programs, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s(%v)", out, err)
	}
	return string(out)
}

func podSpec(args ...string) corev1.PodSpec {
	grace := int64(5) // seconds
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers:                    []corev1.Container{{Name: "main", Image: "example.com/probe:v1", Args: args}},
	}
}

func (c *cluster) create(t *testing.T, name string, spec corev1.PodSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: spec}
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) get(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// waiting waits until the pod's container waits for a reason, with a message.
func (c *cluster) waiting(t *testing.T, name, reason, message string) {
	t.Helper()
	eventually(t, name+" waits: "+reason, func() error {
		for _, s := range c.get(t, name).Status.ContainerStatuses {
			if s.State.Waiting != nil && s.State.Waiting.Reason == reason && strings.Contains(s.State.Waiting.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("%+v", c.get(t, name).Status)
	})
}

func (c *cluster) running(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" is ready", func() error {
		for _, condition := range c.get(t, name).Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%+v", c.get(t, name).Status)
	})
}

func (c *cluster) event(t *testing.T, name, reason, text string) {
	t.Helper()
	eventually(t, "event "+reason, func() error {
		events, err := c.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == reason && strings.Contains(e.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
}

// served is what a pod's program answers, asked from the node.
func served(t *testing.T, address, path string) string {
	t.Helper()
	body, err := get(t.Context(), "http://"+address+path)
	if err != nil {
		return err.Error()
	}
	return body
}
