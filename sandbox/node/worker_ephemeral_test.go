package node

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

func debugger(name, image, target string) corev1.EphemeralContainer {
	return corev1.EphemeralContainer{TargetContainerName: target, EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: image}}
}

// An ephemeral container starts when it is added, shares its target's processes, and ends
// with the pod.
func TestWorkerEphemeral(t *testing.T) {
	pod := appPod()
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	b := newBench(t, pod)
	b.run()
	b.until("started", b.isRunning())
	target := b.runtime.last()
	pod = pod.DeepCopy()
	refused := debugger("refused", "app", "")
	refused.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	early := debugger("early", "app", "nothing")
	early.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Optional: ptr.To(true)}}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{refused, early, debugger("debugger", "app", "c0")}
	b.worker.update(pod)
	status := func(name string) corev1.ContainerStatus {
		for _, s := range b.worker.writer.status().EphemeralContainerStatuses {
			if s.Name == name {
				return s
			}
		}
		return corev1.ContainerStatus{}
	}
	b.stepUntil("the debugger runs", func() error {
		if status("debugger").State.Running == nil {
			return fmt.Errorf("%+v", status("debugger"))
		}
		return nil
	})
	if got := b.runtime.last(); got.spec.Beside != Process(target) {
		t.Errorf("it runs beside %v", got.spec.Beside)
	}
	if s := status("refused").State.Waiting; s == nil || s.Reason != plan.ReasonUnsupported || !strings.Contains(s.Message, "privileged") {
		t.Errorf("the privileged one: %+v", s)
	}
	b.stepUntil("the one without its target waits", func() error {
		if s := status("early").State.Waiting; s == nil || s.Reason != plan.ReasonConfigError || s.Message != `target container "nothing" is not running` {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if !b.told(`Unsupported The container is not started: this node does not support container "refused": privileged`) {
		t.Error("no event about the refused container")
	}
	if b.runtime.count() != 2 {
		t.Errorf("%d starts", b.runtime.count())
	}
	target.exit <- plan.Exit{}
	b.stepUntil("the pod has succeeded and the debugger was killed", func() error {
		if s := status("debugger").State.Terminated; s == nil || s.ExitCode != 137 || b.worker.writer.status().Phase != corev1.PodSucceeded {
			return fmt.Errorf("%+v", b.worker.writer.status())
		}
		return nil
	})
}

// An object that an ephemeral container adds to an old pod is not reported before it was read.
func TestWorkerReadsObjectsOfEphemeral(t *testing.T) {
	pod := appPod()
	b := newBench(t, pod)
	var readable atomic.Bool
	b.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if readable.Load() {
			return false, nil, nil
		}
		return true, nil, errors.New("not yet")
	})
	b.run()
	b.until("started", b.isRunning())
	b.clock.Step(2 * slowRead)
	pod = pod.DeepCopy()
	late := debugger("debugger", "app", "")
	late.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Optional: ptr.To(true)}}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{late}
	b.worker.update(pod)
	b.until("the debugger waits", func() error {
		if s := b.worker.writer.status().EphemeralContainerStatuses; len(s) != 1 || s[0].State.Waiting == nil {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	readable.Store(true)
	b.stepUntil("the debugger starts", b.starts(2))
	if b.told("FailedMount") {
		t.Error("an event about a volume that is mounted")
	}
}
