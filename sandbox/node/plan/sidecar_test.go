package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// sidecarPod has the sidecar s0, the init container i0, the sidecar s1 and the ordinary
// container c0.
func sidecarPod(policy corev1.RestartPolicy) *corev1.Pod {
	pod := testPod(policy, 0, 1)
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	pod.Spec.InitContainers = []corev1.Container{{Name: "s0", RestartPolicy: always}, {Name: "i0"}, {Name: "s1", RestartPolicy: always}}
	return pod
}

func starting() ContainerState { s := running(); s.Started, s.Ready = false, false; return s }

func TestSidecars(t *testing.T) {
	const always, never = corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	for _, c := range []struct {
		name           string
		policy         corev1.RestartPolicy
		s0, i0, s1, c0 ContainerState
		want           Step
		phase          corev1.PodPhase
		why            string
	}{
		{"new", always, fresh(), fresh(), fresh(), fresh(), Step{Start: []string{"s0"}}, corev1.PodPending, "in order"},
		{"first starts", always, starting(), fresh(), fresh(), fresh(), Step{}, corev1.PodPending, "its startup probe is awaited"},
		{"first in postStart", always, inPostStart(), fresh(), fresh(), fresh(), Step{}, corev1.PodPending, "its hook is awaited"},
		{"first runs", always, running(), fresh(), fresh(), fresh(), Step{Start: []string{"i0"}}, corev1.PodPending, "init containers run beside it"},
		{"first ends during init", always, ended(0), running(), fresh(), fresh(), Step{Start: []string{"s0"}}, corev1.PodPending, "restarted, also after a success"},
		{"first ends, Never", never, ended(1), running(), fresh(), fresh(), Step{Start: []string{"s0"}}, corev1.PodPending, "whatever the pod's policy is"},
		{"second", always, running(), ended(0), fresh(), fresh(), Step{Start: []string{"s1"}}, corev1.PodPending, "after the init container"},
		{"both run", always, running(), ended(0), running(), fresh(), Step{Start: []string{"c0"}}, corev1.PodPending, "all have started"},
		{"all run", always, running(), ended(0), running(), running(), Step{}, corev1.PodRunning, "nothing to do"},
		{"both end", always, ended(1), ended(0), later(), running(), Step{Start: []string{"s0"}, Again: noon.Add(time.Second)}, corev1.PodRunning, "restarted each by its back-off, and the pod stays initialized"},
		{"one starts again", always, running(), ended(0), starting(), ended(1), Step{Start: []string{"c0"}}, corev1.PodRunning, "the others do not wait for it any more"},
		{"completed", never, running(), ended(0), running(), ended(0), Step{Finished: true}, corev1.PodSucceeded, "sidecars do not keep the pod"},
		{"completed after both ended", never, ended(1), ended(0), ended(1), ended(0), Step{Finished: true}, corev1.PodSucceeded, "their exit codes do not matter"},
		{"failed", never, running(), ended(0), running(), ended(1), Step{Finished: true}, corev1.PodFailed, "the ordinary container's does"},
		{"init failed", never, running(), ended(1), fresh(), fresh(), Step{Finished: true}, corev1.PodFailed, "the pod cannot go on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := sidecarPod(c.policy)
			states := map[string]ContainerState{"s0": c.s0, "i0": c.i0, "s1": c.s1, "c0": c.c0}
			step := Next(&pod.Spec, states, noon)
			if diff := cmp.Diff(c.want, step); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
			if got := phase(View{Pod: pod, States: states, Finished: step.Finished}); got != c.phase {
				t.Errorf("phase %s, want %s: %s", got, c.phase, c.why)
			}
		})
	}
}

func TestMayEnd(t *testing.T) {
	spec := &sidecarPod(corev1.RestartPolicyAlways).Spec
	for _, c := range []struct {
		name string
		runs []string
		want bool
		why  string
	}{
		{"c0", []string{"s0", "s1", "c0"}, true, "ordinary containers end first"},
		{"s1", []string{"s0", "s1", "c0"}, false, "after ordinary containers"},
		{"s1", []string{"s0", "s1"}, true, "in reverse order"},
		{"s0", []string{"s0", "s1"}, false, "after the later sidecar"},
		{"s0", []string{"s0", "i0"}, false, "after an init container that needs it"},
		{"s0", []string{"s0"}, true, "last"},
		{"i0", []string{"s0", "i0"}, true, "an init container is no sidecar"},
	} {
		runs := map[string]bool{}
		for _, name := range c.runs {
			runs[name] = true
		}
		if got := MayEnd(spec, c.name, func(name string) bool { return runs[name] }); got != c.want {
			t.Errorf("%s while %v run: %v, want %v: %s", c.name, c.runs, got, c.want, c.why)
		}
	}
}

func TestSidecarStatus(t *testing.T) {
	pod := sidecarPod(corev1.RestartPolicyAlways)
	unready := running()
	unready.Ready = false
	v := View{Pod: pod, StartTime: noon, Now: noon,
		States: map[string]ContainerState{"s0": running(), "i0": ended(0), "s1": unready, "c0": running()}}
	status := Status(corev1.PodStatus{}, v)
	ready := map[string]bool{}
	for _, s := range status.InitContainerStatuses {
		ready[s.Name] = s.Ready
	}
	if diff := cmp.Diff(map[string]bool{"s0": true, "i0": true, "s1": false}, ready); diff != "" {
		t.Error(diff)
	}
	if c := conditionOf(status, corev1.PodReady); c.Status != corev1.ConditionFalse || c.Message != "containers with unready status: [s1]" {
		t.Errorf("ready: %+v", c)
	}
	if c := conditionOf(status, corev1.PodInitialized); c.Status != corev1.ConditionTrue {
		t.Errorf("initialized: %+v", c)
	}
	v.States["c0"], v.States["s1"] = fresh(), starting()
	if c := conditionOf(Status(corev1.PodStatus{}, v), corev1.PodInitialized); c.Message != "containers with incomplete status: [s1]" {
		t.Errorf("initialized before the sidecar has started: %+v", c)
	}
}

// After a new start of the node, sidecars start before the other containers, as at first.
func TestSidecarsAfterRestart(t *testing.T) {
	const always, never, onFailure = corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	for _, c := range []struct {
		name   string
		policy corev1.RestartPolicy
		c0     ContainerState
		want   Step
		why    string
	}{
		{"running", always, running(), Step{Start: []string{"s0"}}, "it starts after the sidecars"},
		{"in back-off", always, later(), Step{Start: []string{"s0"}}, "so does this"},
		{"failed, OnFailure", onFailure, ended(1), Step{Start: []string{"s0"}}, "so does this"},
		{"succeeded, OnFailure", onFailure, ended(0), Step{Finished: true}, "nothing needs sidecars"},
		{"running, Never", never, running(), Step{Finished: true}, "it has ended with the node and is not started again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := sidecarPod(c.policy)
			status := func(name string, s ContainerState) corev1.ContainerStatus {
				return corev1.ContainerStatus{Name: name, ContainerID: s.ID, State: s.State}
			}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status("s0", running()), status("i0", ended(0)), status("s1", running())}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{status("c0", c.c0)}
			states := InitialStates(pod, noon)
			if diff := cmp.Diff(c.want, Next(&pod.Spec, states, noon)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
			if c.want.Finished {
				return
			}
			states["s0"] = started(states["s0"])
			if diff := cmp.Diff([]string{"s1"}, Next(&pod.Spec, states, noon).Start); diff != "" {
				t.Errorf("after the first sidecar:\n%s", diff)
			}
			states["s1"] = started(states["s1"])
			if diff := cmp.Diff([]string{"c0"}, Next(&pod.Spec, states, noon).Start); diff != "" {
				t.Errorf("after the second sidecar:\n%s", diff)
			}
			states["c0"], states["s0"] = started(states["c0"]), ended(1)
			if diff := cmp.Diff([]string{"s0"}, Next(&pod.Spec, states, noon).Start); diff != "" {
				t.Errorf("after the end of a sidecar:\n%s", diff)
			}
			if names := incomplete(&pod.Spec, states); names != nil {
				t.Errorf("the pod is not initialized any more: it waits for %v", names)
			}
		})
	}
}

func started(s ContainerState) ContainerState {
	s = s.Running("new", "image", "", noon)
	s.Started = true
	return s
}
