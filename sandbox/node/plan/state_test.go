package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestBackOff(t *testing.T) {
	b := BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}
	var got []time.Duration
	for restarts := range 8 {
		got = append(got, b.Delay(restarts)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{0, 10, 20, 40, 80, 160, 300, 300}, got); diff != "" {
		t.Error(diff)
	}
	if b.ResetBy(9*time.Minute) || !b.ResetBy(10*time.Minute) {
		t.Error("a run of ten minutes starts over, a shorter one does not")
	}
}

// A container that keeps ending: immediately, then later and later; a long run
// starts over.
func TestCrashLoopTransitions(t *testing.T) {
	b := BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}
	s, now := ContainerState{State: waitingState(ReasonContainerCreating)}, noon
	for i, c := range []struct {
		ran  time.Duration
		wait time.Duration
	}{{time.Second, 0}, {time.Second, 10 * time.Second}, {time.Second, 20 * time.Second}, {11 * time.Minute, 0}, {time.Second, 10 * time.Second}} {
		s = s.Running("id", "image", "", now)
		if int(s.Restarts) != i {
			t.Errorf("run %d has restart count %d", i, s.Restarts)
		}
		started := now
		now = now.Add(c.ran)
		s = s.Exited(Exit{Code: 1}, "", started, now, true, b, "c")
		if got := s.NotBefore.Sub(now); got != c.wait {
			t.Errorf("run %d: next start after %s, want %s", i, got, c.wait)
		}
		if waits := s.State.Waiting != nil && s.State.Waiting.Reason == ReasonCrashLoopBackOff; waits != (c.wait > 0) {
			t.Errorf("run %d: state %+v", i, s.State)
		}
		if last := first(s.Last, s.State.Terminated); last == nil || last.ExitCode != 1 {
			t.Errorf("run %d: its end is not told: %+v", i, s)
		}
		now = s.NotBefore
	}
}

func waitingState(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func running() ContainerState {
	return ContainerState{ID: "id", Started: true, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func inPostStart() ContainerState { s := running(); s.PostStart = true; return s }

func ended(code int32) ContainerState {
	return ContainerState{ID: "id", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func fresh() ContainerState { return ContainerState{State: waitingState(ReasonContainerCreating)} }

func later() ContainerState {
	s := ended(1)
	s.Last, s.State, s.NotBefore = s.State.Terminated, waitingState(ReasonCrashLoopBackOff), noon.Add(time.Second)
	return s
}

func testPod(policy corev1.RestartPolicy, init, containers int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u"}, Spec: corev1.PodSpec{RestartPolicy: policy}}
	for i := range init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "i" + string(rune('0'+i))})
	}
	for i := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c" + string(rune('0'+i))})
	}
	return pod
}

func TestPlanAndPhase(t *testing.T) {
	const always, onFailure, never = corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	type states = map[string]ContainerState
	for _, c := range []struct {
		name   string
		policy corev1.RestartPolicy
		states states
		plan   Step
		phase  corev1.PodPhase
		why    string
	}{
		{"new", always, states{"c0": fresh(), "c1": fresh()}, Step{Start: []string{"c0", "c1"}}, corev1.PodPending, "all at once"},
		{"one runs", always, states{"c0": running(), "c1": fresh()}, Step{Start: []string{"c1"}}, corev1.PodPending, "until all have run"},
		{"postStart hook", always, states{"c0": inPostStart(), "c1": running()}, Step{}, corev1.PodPending, "not started again, and not running yet"},
		{"all run", always, states{"c0": running(), "c1": running()}, Step{}, corev1.PodRunning, "nothing to do"},
		{"ended, Always", always, states{"c0": ended(0), "c1": running()}, Step{Start: []string{"c0"}}, corev1.PodRunning, "also after a success"},
		{"backs off", always, states{"c0": later(), "c1": running()}, Step{Again: noon.Add(time.Second)}, corev1.PodRunning, "not before its time"},
		{"ended, OnFailure", onFailure, states{"c0": ended(0), "c1": ended(1)}, Step{Start: []string{"c1"}}, corev1.PodRunning, "only what failed"},
		{"succeeded", onFailure, states{"c0": ended(0), "c1": ended(0)}, Step{Finished: true}, corev1.PodSucceeded, "all have succeeded"},
		{"failed", never, states{"c0": ended(0), "c1": ended(1)}, Step{Finished: true}, corev1.PodFailed, "one has failed for good"},
		{"half done", never, states{"c0": ended(1), "c1": running()}, Step{}, corev1.PodRunning, "the other goes on"},
		{"init first", always, states{"i0": fresh(), "i1": fresh(), "c0": fresh()}, Step{Start: []string{"i0"}}, corev1.PodPending, "one after the other"},
		{"init second", always, states{"i0": ended(0), "i1": fresh(), "c0": fresh()}, Step{Start: []string{"i1"}}, corev1.PodPending, "after the first"},
		{"init runs", always, states{"i0": running(), "c0": fresh()}, Step{}, corev1.PodPending, "nothing beside it"},
		{"init done", always, states{"i0": ended(0), "c0": fresh()}, Step{Start: []string{"c0"}}, corev1.PodPending, "not started again"},
		{"init failed", never, states{"i0": ended(1), "c0": fresh()}, Step{Finished: true}, corev1.PodFailed, "the pod cannot go on"},
		{"init tried again", onFailure, states{"i0": later(), "c0": fresh()}, Step{Again: noon.Add(time.Second)}, corev1.PodPending, "with its back-off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := testPod(c.policy, 0, 0)
			for _, name := range []string{"i0", "i1"} {
				if _, ok := c.states[name]; ok {
					pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name})
				}
			}
			for _, name := range []string{"c0", "c1"} {
				if _, ok := c.states[name]; ok {
					pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
				}
			}
			plan := Next(&pod.Spec, c.states, noon)
			if diff := cmp.Diff(c.plan, plan); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
			if got := phase(View{Pod: pod, States: c.states, Finished: plan.Finished}); got != c.phase {
				t.Errorf("phase %s, want %s: %s", got, c.phase, c.why)
			}
		})
	}
}

func TestNextEphemeral(t *testing.T) {
	refused := ContainerState{State: waitingState(ReasonUnsupported)}
	delayed := fresh()
	delayed.NotBefore = noon.Add(time.Second)
	for _, c := range []struct {
		name   string
		states map[string]ContainerState
		want   Step
		why    string
	}{
		{"new", map[string]ContainerState{"i0": ended(0), "c0": running(), "e0": fresh()}, Step{Start: []string{"e0"}}, "in a running pod"},
		{"during init", map[string]ContainerState{"i0": running(), "c0": fresh(), "e0": fresh()}, Step{Start: []string{"e0"}}, "beside an init container"},
		{"ended", map[string]ContainerState{"i0": ended(0), "c0": running(), "e0": ended(1)}, Step{}, "never again"},
		{"refused", map[string]ContainerState{"i0": ended(0), "c0": running(), "e0": refused}, Step{}, "it never starts"},
		{"later", map[string]ContainerState{"i0": ended(0), "c0": running(), "e0": delayed}, Step{Again: noon.Add(time.Second)}, "its target does not run yet"},
		{"pod has failed", map[string]ContainerState{"i0": ended(1), "c0": fresh(), "e0": fresh()}, Step{Finished: true}, "nothing starts any more"},
		{"pod has ended", map[string]ContainerState{"i0": ended(0), "c0": ended(0), "e0": running()}, Step{Finished: true}, "it does not keep the pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := testPod(corev1.RestartPolicyNever, 1, 1)
			pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e0"}}}
			if diff := cmp.Diff(c.want, Next(&pod.Spec, c.states, noon)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

func TestEphemeralIsNotRestarted(t *testing.T) {
	pod := testPod(corev1.RestartPolicyAlways, 0, 1)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e0"}}}
	if RestartsAfter(&pod.Spec, "e0", 1) || !RestartsAfter(&pod.Spec, "c0", 1) {
		t.Error("only the ordinary container is restarted")
	}
}

func TestUnsupportedEphemeral(t *testing.T) {
	c := corev1.Container{Name: "debugger", SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}}}}
	if got := UnsupportedEphemeral(c); len(got) != 0 {
		t.Errorf("the profile general of kubectl debug is refused: %v", got)
	}
	c.SecurityContext.Capabilities.Add = append(c.SecurityContext.Capabilities.Add, "NET_ADMIN")
	c.SecurityContext.Privileged = ptr.To(true)
	want := []string{`container "debugger": privileged`, `container "debugger": capabilities.add`}
	if diff := cmp.Diff(want, UnsupportedEphemeral(c)); diff != "" {
		t.Error(diff)
	}
	if got := AddedCapabilities(c); len(got) != 2 {
		t.Errorf("the container has lost some of its capabilities: %v", got)
	}
}

func TestInitialStates(t *testing.T) {
	pod := testPod(corev1.RestartPolicyAlways, 0, 3)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "c0", ContainerID: "old", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{Name: "c1", ContainerID: "old", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}},
		{Name: "c2", State: waitingState(ReasonErrImagePull)},
	}
	states := InitialStates(pod, noon)
	if s := states["c0"]; s.State.Terminated == nil || s.State.Terminated.Reason != ReasonStatusUnknown || s.Restarts != 2 {
		t.Errorf("what ran has ended with the node: %+v", s)
	}
	if s := states["c1"]; s.State.Terminated == nil || s.State.Terminated.ExitCode != 3 {
		t.Errorf("what had ended is not forgotten: %+v", s)
	}
	if s := states["c2"]; s.State.Waiting == nil || s.State.Waiting.Reason != ReasonContainerCreating {
		t.Errorf("what had not run is as new: %+v", s)
	}
	if s := states["c0"].Running("new", "", "", noon); s.Restarts != 3 {
		t.Errorf("the start after it counts as restart %d, want 3", s.Restarts)
	}
}

func conditionOf(status corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestPodStatus(t *testing.T) {
	pod := testPod(corev1.RestartPolicyAlways, 0, 2)
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	current := corev1.PodStatus{QOSClass: corev1.PodQOSBestEffort, Conditions: []corev1.PodCondition{
		{Type: "example.com/gate", Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon)},
	}}
	unready := running()
	unready.Ready = false
	v := View{Pod: pod, At: Addresses{Pod: "10.0.0.2", Host: "10.0.0.1"}, StartTime: noon, Now: noon.Add(time.Minute),
		States: map[string]ContainerState{"c0": running(), "c1": unready}}

	got := Status(current, v)
	ready := conditionOf(got, corev1.PodReady)
	if ready.Status != corev1.ConditionFalse || ready.Message != "containers with unready status: [c1]" || !ready.LastTransitionTime.Time.Equal(noon) {
		t.Errorf("not ready, since noon: %+v", ready)
	}
	if got.QOSClass != corev1.PodQOSBestEffort || got.PodIP != "10.0.0.2" || !got.StartTime.Time.Equal(noon) {
		t.Errorf("status: %+v", got)
	}
	v.States["c1"] = running()
	got = Status(got, v)
	ready = conditionOf(got, corev1.PodReady)
	if ready.Status != corev1.ConditionTrue || !ready.LastTransitionTime.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("ready, since now: %+v", ready)
	}
	v.Now = noon.Add(time.Hour)
	if diff := cmp.Diff(got, Status(got, v)); diff != "" {
		t.Errorf("nothing has changed but the time:\n%s", diff)
	}
	got.Conditions[0].Status = corev1.ConditionFalse
	if ready = conditionOf(Status(got, v), corev1.PodReady); ready.Reason != reasonReadinessGatesNotReady {
		t.Errorf("a gate that is shut: %+v", ready)
	}
	v.Reason, v.Finished = "DeadlineExceeded", true
	if got = Status(got, v); got.Phase != corev1.PodFailed || conditionOf(got, corev1.PodReady).Reason != reasonPodFailed {
		t.Errorf("ended by the node: %+v", got)
	}
}

func TestProbeCount(t *testing.T) {
	probe := &corev1.Probe{SuccessThreshold: 1, FailureThreshold: 3}
	count := ProbeCount{}
	for i, c := range []struct{ ok, decided, result bool }{
		{false, false, false}, {false, false, false}, {true, true, true},
		{false, true, true}, {false, true, true}, {false, true, false}, {true, true, true},
	} {
		count = count.Add(c.ok, probe)
		if count.Decided != c.decided || count.Result != c.result {
			t.Errorf("after probe %d: %+v, want decided %v, result %v", i, count, c.decided, c.result)
		}
	}
}

func TestUnsupported(t *testing.T) {
	if got := Unsupported(testPod(corev1.RestartPolicyAlways, 1, 1), nil); len(got) != 0 {
		t.Errorf("an ordinary pod is refused: %v", got)
	}
	pod := testPod(corev1.RestartPolicyAlways, 1, 1)
	pod.Spec.HostNetwork, pod.Spec.HostPID = true, true
	pod.Spec.RuntimeClassName = ptr.To("gvisor")
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "h", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/allowed/../etc"}}},
		{Name: "a", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/allowed/a"}}},
		{Name: "p", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
		{Name: "n", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}},
	}
	pod.Spec.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	c := &pod.Spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{HostPort: 80}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}
	c.Lifecycle = &corev1.Lifecycle{
		PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{}},
		PreStop:   &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{}},
	}
	c.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
	want := []string{
		"hostNetwork", "hostPID", "runtimeClassName",
		`volume "h": hostPath outside of the directories that "ocm-sandbox up --allow-host-path=DIR" allows`,
		`volume "n": a type other than emptyDir, secret, configMap, downwardAPI, projected, persistentVolumeClaim, ephemeral and hostPath`,
		`init container "i0": a restartPolicy of its own other than Always (a sidecar)`,
		`container "c0": hostPort 80`, `container "c0": a preStop hook other than exec, httpGet and sleep`,
		`container "c0": privileged`, `container "c0": capabilities.add`,
	}
	if diff := cmp.Diff(want, Unsupported(pod, []string{"/allowed"})); diff != "" {
		t.Error(diff)
	}
}
