//go:build sandbox

package node

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/test/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/test/sandbox/network"
	"open-cluster-management.io/helloworld-addon/test/sandbox/process"
)

// cluster is a real control plane with a real node on it.
type cluster struct {
	client     kubernetes.Interface
	kubeconfig string
	programs   string
	logs       string
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
	t.Run("deletion", c.testDeletion)
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
	done := make(chan error, 2)
	go func() { done <- control.Run(ctx, func(err *process.LoopError) { t.Error(err) }) }()
	t.Cleanup(func() { cancel(); <-done; <-done })
	if err := control.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	options := nodeOptions(t, control, bridge, gateway.Addr())
	go func() {
		err := Run(ctx, options)
		if err != nil {
			t.Error(err)
		}
		done <- err
	}()
	client, err := kubernetes.NewForConfig(control.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{client: client, programs: programs, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), logs: options.LogDir}
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
		BackOff:   BackOff{Initial: 2 * time.Second, Max: 10 * time.Second},
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
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, probeProgram), self, 0o755)
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
	second := int64(5)
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: &second,
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

func (c *cluster) testDeployment(t *testing.T) {
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, StringData: map[string]string{"key": "one"}}
	if _, err := c.client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := podSpec("serve", "8080")
	readOnly, nonRoot := true, true
	main := &spec.Containers[0]
	main.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &readOnly, RunAsNonRoot: &nonRoot}
	main.Env = []corev1.EnvVar{
		{Name: "FROM_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "key"}}},
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		{Name: "BOTH", Value: "$(FROM_SECRET)-$(NODE)"},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}}
	main.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}}
	main.LivenessProbe = main.ReadinessProbe.DeepCopy()
	spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}}}}
	labels := map[string]string{"app": "web"}
	began := time.Now()
	_, err := c.client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is available", func() error {
		d, err := c.client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 1 {
			err = fmt.Errorf("%+v", d.Status)
		}
		return err
	})
	t.Logf("available after %s", time.Since(began).Round(10*time.Millisecond))

	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	pod := pods.Items[0]
	address := pod.Status.PodIP + ":8080"
	for path, want := range map[string]string{
		"/env/BOTH": "one-worker", "/files/etc/settings/key": "one",
		"/files/var/run/secrets/kubernetes.io/serviceaccount/namespace": "default",
	} {
		if got := served(t, address, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if token := served(t, address, "/files/var/run/secrets/kubernetes.io/serviceaccount/token"); strings.Count(token, ".") != 2 {
		t.Errorf("the service account's token is %q", token)
	}

	changed := time.Now()
	secret.StringData["key"] = "two"
	if _, err := c.client.CoreV1().Secrets("default").Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the changed Secret is in the file", func() error {
		if got := served(t, address, "/files/etc/settings/key"); got != "two" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	t.Logf("the file changed after %s", time.Since(changed).Round(10*time.Millisecond))

	if got := c.kubectl(t, "logs", pod.Name); !strings.Contains(got, "probe: uid 65532 serves") {
		t.Errorf("kubectl logs: %s", got)
	}
	if got := c.kubectl(t, "logs", pod.Name, "--tail=1", "--timestamps"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "Z probe: ") {
		t.Errorf("kubectl logs --tail=1 --timestamps: %s", got)
	}
	if got := c.kubectl(t, "exec", pod.Name, "--", "ls"); !strings.Contains(got, "not supported by a sandbox node") {
		t.Errorf("kubectl exec: %s", got)
	}
	c.portForward(t, pod.Name)

	// a failing liveness probe restarts the container
	served(t, address, "/fail")
	eventually(t, "the container is restarted", func() error {
		if s := c.get(t, pod.Name).Status.ContainerStatuses[0]; s.RestartCount != 1 || !s.Ready {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if got := c.kubectl(t, "logs", pod.Name, "--previous"); !strings.Contains(got, "told to stop") {
		t.Errorf("kubectl logs --previous: %s", got)
	}
	c.event(t, pod.Name, "Unhealthy", "Liveness probe failed")
}

// portForward reaches the pod through kubectl and the API server.
func (c *cluster) portForward(t *testing.T, pod string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs, "kubectl"), "--kubeconfig", c.kubeconfig, "port-forward", pod, "18080:8080", "--address=127.0.0.1")
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "port-forward answers", func() error {
		if got := served(t, "127.0.0.1:18080", "/env/NODE"); got != "worker" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	cancel()
	_ = cmd.Wait()
}

func (c *cluster) testJob(t *testing.T) {
	spec := podSpec("say", "done")
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.InitContainers = []corev1.Container{{Name: "first", Image: "example.com/probe", Command: []string{"/usr/local/bin/probe", "say", "first"}}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	if _, err := c.client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job is complete", func() error {
		j, err := c.client.BatchV1().Jobs("default").Get(t.Context(), "once", metav1.GetOptions{})
		if err == nil && j.Status.Succeeded != 1 {
			err = fmt.Errorf("%+v", j.Status)
		}
		return err
	})
	if got := c.kubectl(t, "logs", "job/once"); !strings.Contains(got, "probe: say done") {
		t.Errorf("kubectl logs: %s", got)
	}
	failing := podSpec("exit", "3")
	failing.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, "failing", failing)
	eventually(t, "the pod has failed", func() error {
		status := c.get(t, "failing").Status
		if status.Phase != corev1.PodFailed {
			return fmt.Errorf("%+v", status)
		}
		if ended := status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 3 || ended.Message != "exit as told" {
			t.Errorf("state: %+v", status.ContainerStatuses[0].State)
		}
		return nil
	})
}

func (c *cluster) testMissingSecret(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.Volumes = []corev1.Volume{{Name: "late", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late"}}}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "late", MountPath: "/late", ReadOnly: true}}
	c.create(t, "waits", spec)
	c.waiting(t, "waits", "ContainerCreating", `secret "late" not found`)
	c.event(t, "waits", "FailedMount", `MountVolume.SetUp failed for volume "late" : secret "late" not found`)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}, StringData: map[string]string{"key": "value"}}
	began := time.Now()
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running(t, "waits")
	t.Logf("running %s after the Secret appeared", time.Since(began).Round(10*time.Millisecond))

	spec = podSpec("serve", "8080")
	spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	c.create(t, "waits-for-env", spec)
	c.waiting(t, "waits-for-env", "CreateContainerConfigError", `configmap "late" not found`)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string]string{"KEY": "value"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running(t, "waits-for-env")
}

func (c *cluster) testCrashLoop(t *testing.T) {
	c.create(t, "crashes", podSpec("exit", "7"))
	c.waiting(t, "crashes", "CrashLoopBackOff", "back-off 4s")
	status := c.get(t, "crashes").Status
	if s := status.ContainerStatuses[0]; s.RestartCount != 2 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 7 {
		t.Errorf("status: %+v", s)
	}
	if status.Phase != corev1.PodRunning {
		t.Errorf("phase %s", status.Phase)
	}
	c.event(t, "crashes", "BackOff", "Back-off restarting failed container main")
	missing := podSpec()
	missing.Containers[0].Command = []string{"/nothing/here"}
	c.create(t, "no-program", missing)
	eventually(t, "the missing program is named", func() error {
		s := c.get(t, "no-program").Status
		if len(s.ContainerStatuses) == 1 && s.ContainerStatuses[0].LastTerminationState.Terminated != nil &&
			strings.Contains(s.ContainerStatuses[0].LastTerminationState.Terminated.Message, "/nothing/here") {
			return nil
		}
		return fmt.Errorf("%+v", s)
	})
}

func (c *cluster) testRefused(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.HostNetwork = true
	yes := true
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	c.create(t, "refused", spec)
	c.waiting(t, "refused", "Unsupported", `hostNetwork; container "main": privileged`)
	c.event(t, "refused", "Unsupported", "hostNetwork")
}

func (c *cluster) testUnknownImage(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.Containers[0].Image = "nginx:1.29"
	c.create(t, "unknown", spec)
	c.waiting(t, "unknown", "ErrImagePull", `image "nginx:1.29" is not known to the sandbox; known: example.com/probe`)
	c.event(t, "unknown", "Failed", "nginx:1.29")
}

func (c *cluster) testDeletion(t *testing.T) {
	ctx := t.Context()
	c.create(t, "polite", podSpec("serve", "8080"))
	c.create(t, "stubborn", podSpec("hang"))
	c.running(t, "polite")
	c.running(t, "stubborn")
	for name, bounds := range map[string][2]time.Duration{"polite": {0, 4 * time.Second}, "stubborn": {4 * time.Second, 15 * time.Second}} {
		uid := c.get(t, name).UID
		began := time.Now()
		if err := c.client.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is gone", func() error {
			pod, err := c.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%+v, %w", pod.Status, io.ErrNoProgress)
		})
		if took := time.Since(began); took < bounds[0] || took > bounds[1] {
			t.Errorf("%s was gone after %s, want %s", name, took, bounds)
		}
		eventually(t, "the logs of "+name+" are gone", func() error {
			if _, err := os.Stat(logStore{c.logs}.podDir("default", name, string(uid))); !os.IsNotExist(err) {
				return fmt.Errorf("stat: %w", err)
			}
			return nil
		})
	}
	c.create(t, "polite", podSpec("serve", "8080"))
	c.running(t, "polite")
	old := c.get(t, "polite")
	// the same name at once: virtual-kubelet must not take the new pod for the old
	zero := int64(0)
	if err := c.client.CoreV1().Pods("default").Delete(ctx, "polite", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	c.create(t, "polite", podSpec("serve", "8080"))
	c.running(t, "polite")
	if now := c.get(t, "polite"); now.UID == old.UID || now.Status.PodIP == old.Status.PodIP {
		t.Errorf("the new pod is %s at %s, as the old one", now.UID, now.Status.PodIP)
	}
}
