package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

func TestWorkerCrashLoop(t *testing.T) {
	b := newBench(t, appPod())
	b.run()
	b.until("first start", b.isRunning())
	b.runtime.last().exit <- plan.Exit{Code: 1}
	b.until("restarted at once", b.starts(2))
	b.runtime.last().exit <- plan.Exit{Code: 2}
	b.until("waits", b.container("in back-off", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonCrashLoopBackOff &&
			s.RestartCount == 1 && s.LastTerminationState.Terminated.ExitCode == 2
	}))
	if !b.told("BackOff Back-off restarting failed container c0") {
		t.Error("no event")
	}
	began := b.clock.Now()
	b.stepUntil("third start", b.starts(3))
	if waited := b.clock.Since(began); waited < 9*time.Second || waited > 20*time.Second {
		t.Errorf("started after %s, want 10 s", waited)
	}
}

func TestWorkerKillsAfterGrace(t *testing.T) {
	b := newBench(t, appPod())
	b.run()
	b.until("started", b.isRunning())
	began := b.clock.Now()
	b.worker.terminate(20 * time.Second)
	b.until("asked to end", func() error {
		if got := b.runtime.last().told(); got != "[terminated]" {
			return errors.New(got)
		}
		return nil
	})
	b.stepUntil("gone", func() error {
		_, err := b.client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the pod is there: %w", err)
	})
	if took := b.clock.Since(began); took < 20*time.Second {
		t.Errorf("killed after %s, want 20 s", took)
	}
	if got := b.runtime.last().told(); got != "[terminated killed]" {
		t.Errorf("signals %s", got)
	}
	<-b.network.closed
	<-b.worker.done
	if entries, err := os.ReadDir(b.worker.StateDir); err != nil || len(entries) != 0 {
		t.Errorf("left on disk: %v, %v", entries, err)
	}
}

func TestWorkerWaitsForSecret(t *testing.T) {
	pod := appPod()
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: secretVolume("late")}}
	b := newBench(t, pod)
	b.run()
	b.until("says what is missing", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && strings.Contains(s.State.Waiting.Message, `secret "late" not found`)
	}))
	if !b.told("FailedMount MountVolume.SetUp failed for volume \"v\" : secret \"late\" not found") {
		t.Error("no event")
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "late"}, Data: map[string][]byte{"k": []byte("v")}}
	if _, err := b.client.CoreV1().Secrets("ns").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("starts without waiting", b.isRunning())
	secret.Data["k"] = []byte("w")
	if _, err := b.client.CoreV1().Secrets("ns").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("the file changes", func() error {
		if got := tree(t, b.worker.volumes.path("v")); got["k"] != "w" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	if err := b.client.CoreV1().Secrets("ns").Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("a Secret that goes is told", func() error {
		if !b.told("FailedMount") {
			return errors.New("no event")
		}
		return nil
	})
	if got := tree(t, b.worker.volumes.path("v")); got["k"] != "w" {
		t.Errorf("a running pod keeps what it has: %v", got)
	}
}

// TestWorkerRefusesALongFullName checks that the container says why it waits.
func TestWorkerRefusesALongFullName(t *testing.T) {
	pod, yes := appPod(), true
	pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.SetHostnameAsFQDN = strings.Repeat("a", 63), "web", &yes
	b := newBench(t, pod)
	b.worker.ClusterDomain = "cluster.local"
	b.run()
	b.until("says what is too long", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonConfigError &&
			strings.Contains(s.State.Waiting.Message, "setHostnameAsFQDN")
	}))
}

// TestWorkerReleasesImages checks that a run uses its image until it ends, and that a start
// that fails does not.
func TestWorkerReleasesImages(t *testing.T) {
	b := newBench(t, appPod())
	used := func(n int32) func() error {
		return func() error {
			if got := b.worker.Images.(fakeImages).used["app"].Load(); got != n {
				return fmt.Errorf("%d runs use the image, want %d", got, n)
			}
			return nil
		}
	}
	b.run()
	b.until("started", b.isRunning())
	b.until("in use", used(1))
	b.runtime.mu.Lock()
	b.runtime.err = errors.New("no such program")
	b.runtime.mu.Unlock()
	b.runtime.last().exit <- plan.Exit{Code: 1}
	b.until("waits", b.container("in back-off", func(s corev1.ContainerStatus) bool { return s.State.Waiting != nil }))
	b.until("not in use", used(0))
}

func TestWorkerHealsWhenImageIsAdded(t *testing.T) {
	pod := appPod()
	pod.Spec.Containers[0].Image = "other"
	b := newBench(t, pod)
	images := b.worker.Images.(fakeImages).images
	b.run()
	b.until("unknown", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonErrImagePull && strings.Contains(s.State.Waiting.Message, `image "other" is not known to the sandbox; known: app`)
	}))
	if !b.told(`Failed Failed to pull image "other": image "other" is not known`) {
		t.Error("no event of the pull")
	}
	b.stepUntil("backs off", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonImagePullBackOff &&
			strings.HasPrefix(s.State.Waiting.Message, `Back-off pulling image "other": ErrImagePull: image "other" is not known`)
	}))
	if !b.told(`BackOff Back-off pulling image "other": ErrImagePull: image "other" is not known to the sandbox; known: app; add it with`) {
		t.Error("no event of the back-off")
	}
	b.worker.do(func() { images["other"] = images["app"] })
	b.stepUntil("started", b.isRunning())
}

func TestWorkerReportsUnreadableImage(t *testing.T) {
	b := newBench(t, appPod())
	b.worker.Images.(fakeImages).broken["app"] = errors.New("read /etc/passwd")
	b.run()
	b.until("waits", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonErrImagePull && s.State.Waiting.Message == "read /etc/passwd"
	}))
	if !b.told(`Failed Failed to pull image "app": read /etc/passwd`) {
		t.Error("no event")
	}
}

func TestWorkerWaitsForImageThatIsNeverPulled(t *testing.T) {
	pod := appPod()
	pod.Spec.Containers[0].Image, pod.Spec.Containers[0].ImagePullPolicy = "other", corev1.PullNever
	b := newBench(t, pod)
	images := b.worker.Images.(fakeImages).images
	b.run()
	b.until("waits", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonErrImageNeverPull
	}))
	if !b.told(`Failed Error: container image "other" is not present with pull policy of Never`) {
		t.Error("no event of the missing image")
	}
	b.worker.do(func() { images["other"] = images["app"] })
	b.stepUntil("started", b.isRunning())
}

func TestWorkerReportsFailedStart(t *testing.T) {
	b := newBench(t, appPod())
	b.runtime.err = errors.New("no such program")
	b.run()
	b.stepUntil("told", b.container("backing off", func(s corev1.ContainerStatus) bool {
		last := s.LastTerminationState.Terminated
		return last != nil && last.Reason == plan.ReasonStartError && strings.Contains(last.Message, "no such program")
	}))
	if !b.told("Failed Error: no such program") {
		t.Error("no event")
	}
}

func TestWorkerEndsAtDeadline(t *testing.T) {
	pod := appPod()
	pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](60)
	b := newBench(t, pod)
	b.run()
	b.until("started", b.isRunning())
	b.stepUntil("failed", func() error {
		got, err := b.client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil || got.Status.Phase != corev1.PodFailed || got.Status.Reason != "DeadlineExceeded" {
			return fmt.Errorf("%+v, %w", got.Status, err)
		}
		return nil
	})
	if b.runtime.count() != 1 {
		t.Errorf("started again")
	}
}

func TestWorkerProbes(t *testing.T) {
	var mu sync.Mutex
	healthy := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !healthy {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	set := func(h bool) { mu.Lock(); healthy = h; mu.Unlock() }
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	number, _ := strconv.Atoi(port)
	probe := &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt(number)}}}
	pod := appPod()
	c := &pod.Spec.Containers[0]
	c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = probe, probe.DeepCopy(), probe.DeepCopy()
	c.StartupProbe.FailureThreshold = 1000
	b := newBench(t, pod)
	b.run()
	started := func(s corev1.ContainerStatus) bool { return s.Started != nil && *s.Started }
	b.until("not started yet", b.container("running, not started", func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && !started(s) && !s.Ready
	}))
	set(true)
	b.stepUntil("ready", b.container("ready", func(s corev1.ContainerStatus) bool { return started(s) && s.Ready }))
	set(false)
	b.stepUntil("not ready", b.container("not ready", func(s corev1.ContainerStatus) bool { return !s.Ready }))
	b.stepUntil("killed", func() error {
		if !strings.Contains(b.runtime.last().told(), "terminated") {
			return errors.New("it runs")
		}
		return nil
	})
	set(true)
	b.stepUntil("restarted", b.container("ready again", func(s corev1.ContainerStatus) bool { return s.RestartCount == 1 && s.Ready }))
}

func TestWorkerRefuses(t *testing.T) {
	pod := appPod()
	pod.Spec.HostNetwork = true
	b := newBench(t, pod)
	b.run()
	b.until("told", b.container("refused", func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonUnsupported && strings.Contains(s.State.Waiting.Message, "hostNetwork")
	}))
	if !b.told("Unsupported The pod is not started: this node does not support hostNetwork") || b.runtime.count() != 0 {
		t.Error("no event, or it was started")
	}
}

// terminateBoth runs a pod with a sidecar and an app, and ends it. It returns them when the app got SIGTERM.
func (b *bench) terminateBoth() (sidecar, app *fakeProcess) {
	b.t.Helper()
	b.run()
	b.until("both run", b.isRunning())
	b.runtime.mu.Lock()
	sidecar, app = b.runtime.started[0], b.runtime.started[1]
	b.runtime.mu.Unlock()
	b.worker.terminate(20 * time.Second)
	b.until("the app is to end", func() error {
		if app.told() != "[terminated]" {
			return errors.New(app.told())
		}
		return nil
	})
	return sidecar, app
}

// A sidecar gets SIGTERM when the container that it serves has ended, and time for its end.
func TestWorkerSidecar(t *testing.T) {
	pod := appPod()
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.InitContainers = []corev1.Container{{Name: "sidecar", Image: "app", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	b := newBench(t, pod)
	sidecar, _ := b.terminateBoth()
	b.clock.Step(10 * time.Second)
	b.worker.do(func() {})
	if sidecar.told() != "[]" {
		t.Errorf("the sidecar got %s before the app has ended", sidecar.told())
	}
	b.clock.Step(10 * time.Second) // the app, which does not end, is killed
	b.until("the sidecar is to end", func() error {
		if sidecar.told() != "[terminated]" {
			return errors.New(sidecar.told())
		}
		return nil
	})
	b.stepUntil("the sidecar is killed", func() error {
		if sidecar.told() != "[terminated killed]" {
			return errors.New(sidecar.told())
		}
		return nil
	})
}

// What is in sync is not written again, and what another writer changes of the
// node's part is put right.
func TestWorkerWritesOnlyChanges(t *testing.T) {
	b := newBench(t, appPod())
	b.run()
	b.until("started", b.isRunning())
	patches := func() int {
		n := 0
		for _, a := range b.client.Actions() {
			if a.Matches("patch", "pods/status") {
				n++
			}
		}
		return n
	}
	before := patches()
	for range 20 {
		b.worker.nudge()
		b.worker.do(func() {})
	}
	if after := patches(); after != before {
		t.Errorf("%d writes in sync", after-before)
	}
	changed, err := b.client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range changed.Status.Conditions {
		changed.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	changed.Status.Conditions = append(changed.Status.Conditions, corev1.PodCondition{Type: "example.com/other", Status: corev1.ConditionTrue})
	changed.ResourceVersion = "1000000"
	if _, err := b.client.CoreV1().Pods("ns").UpdateStatus(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.worker.writer.mu.Lock()
	b.worker.writer.version = "1"
	b.worker.writer.mu.Unlock()
	b.worker.writer.observe(changed)
	b.until("put right", func() error {
		got, err := b.client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil || conditionOf(got.Status, corev1.PodReady).Status != corev1.ConditionTrue {
			return fmt.Errorf("%+v, %w", got.Status.Conditions, err)
		}
		if conditionOf(got.Status, "example.com/other").Status != corev1.ConditionTrue {
			t.Errorf("another's condition is gone: %+v", got.Status.Conditions)
		}
		return nil
	})
}

// A failing liveness probe does not shorten the time of a pod that is being ended.
func TestWorkerEndsWithoutLivenessProbe(t *testing.T) {
	pod := appPod()
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "sidecar", Image: "app", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		LivenessProbe: &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1, TerminationGracePeriodSeconds: ptr.To[int64](1),
			ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}},
		},
	}}
	b := newBench(t, pod)
	var code atomic.Int64
	b.runtime.exec = func(context.Context, Exec) (plan.Exit, error) { return plan.Exit{Code: int(code.Load())}, nil }
	sidecar, app := b.terminateBoth()
	code.Store(1)
	b.stepUntil("the sidecar is to end", func() error {
		if sidecar.told() == "[]" {
			return errors.New("it is not")
		}
		return nil
	})
	if app.told() != "[terminated killed]" {
		t.Errorf("the sidecar got %s before the app's grace period was over", sidecar.told())
	}
}
