package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const program = "klusterlet-addon-lease-controller"

// runningPod has a main container and the sidecar, both running and ready.
func runningPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "addons", Name: "pod-1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "main", Command: []string{"/bin/sh", "-c", "sleep 1"}},
			{Name: "lease", Command: []string{"/usr/local/bin/" + program}},
		}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "lease", Ready: true, State: running}, {Name: "main", Ready: true, State: running},
			},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func notReady(reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, reason
	}
}

func container(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		status := statusOf(&pod.Status, name)
		status.State, status.Ready = state, false
	}
}

func TestOfPod(t *testing.T) {
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}}
	backOff := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	tests := []struct {
		name, reason string
		pod          *corev1.Pod
		want         *Cause
	}{
		{"all is well", "", runningPod(), nil},
		{"no pod", "POD_NAME is wrong, or the pod is gone", nil, &Cause{PodMissing, "the pod does not exist"}},
		{"being deleted", "it is about to end", runningPod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
			&Cause{PodEnding, "the pod is being deleted"}},
		{"ended", "its node was shut down", runningPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
			&Cause{PodEnding, "the pod has ended: Failed"}},
		{"main crashed", "the pod's condition may lag behind", runningPod(container("main", crashed)),
			&Cause{ContainerNotReady, "container main has ended: Error, exit code 1"}},
		{"main waits to be restarted", "", runningPod(container("main", backOff), notReady(containersNotReady)),
			&Cause{ContainerNotReady, "container main is not running: CrashLoopBackOff"}},
		{"main is not ready", "its readiness probe fails", runningPod(container("main", running), notReady(containersNotReady)),
			&Cause{ContainerNotReady, "container main is not ready"}},
		{"main has no status", "the kubelet has not come to it", runningPod(func(p *corev1.Pod) { p.Status.ContainerStatuses = p.Status.ContainerStatuses[:1] }),
			&Cause{ContainerNotReady, "container main was not started yet"}},
		{"the sidecar alone is not ready", "else it could never become ready again", runningPod(container("lease", running), notReady(containersNotReady)), nil},
		{"a readiness gate is closed", "the pod is not Ready though its containers are", runningPod(notReady("ReadinessGatesNotReady")),
			&Cause{PodNotReady, "the pod is not Ready: ReadinessGatesNotReady"}},
		{"the node is lost", "whether the containers run is unknown", runningPod(notReady("NodeLost"), container("lease", running)),
			&Cause{PodNotReady, "the pod is not Ready: NodeLost"}},
		{"the condition lags behind", "all containers are ready, the kubelet has not summed up", runningPod(notReady(containersNotReady)),
			&Cause{PodNotReady, "the pod is not Ready: ContainersNotReady"}},
		{"no condition yet", "", runningPod(func(p *corev1.Pod) { p.Status.Conditions = nil }), &Cause{PodNotReady, "the pod is not Ready yet"}},
		{"another pod", "it has no sidecar of this program: every container counts", runningPod(func(p *corev1.Pod) {
			p.Spec.Containers = p.Spec.Containers[:1]
		}), nil},
		{"started by the image's entry point", "its own container is not known: the pod's condition decides", runningPod(func(p *corev1.Pod) {
			p.Spec.Containers[1].Command = nil
		}, container("lease", running), notReady(containersNotReady)), &Cause{ContainerNotReady, "container lease is not ready"}},
		{"init containers have ended", "as they should", runningPod(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		}), nil},
		{"a sidecar among the init containers", "it has to run as long as the pod", runningPod(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: backOff}}
		}), &Cause{ContainerNotReady, "container proxy is not running: CrashLoopBackOff"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, OfPod(test.pod, program)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
