package sandboxtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

const workYAML = `
metadata: {name: addon-app-deploy-0, namespace: cluster1}
status:
  conditions:
  - {type: Applied, status: "False", reason: AppliedManifestWorkFailed, message: "Failed to apply\nmanifest work"}
  resourceStatus:
    manifests:
    - resourceMeta: {ordinal: 0, kind: Deployment, namespace: ns, name: app}
      conditions:
      - {type: Applied, status: "True", reason: AppliedManifestComplete, message: fine}
      - {type: Available, status: "False", reason: ResourceNotAvailable, message: not there}
      - {type: StatusFeedbackSynced, status: "False", reason: NoStatusFeedbackSynced, message: no rules}
    - resourceMeta: {ordinal: 1, kind: ClusterRole, name: app}
      conditions:
      - {type: Applied, status: "False", reason: AppliedManifestFailed, message: forbidden}
`

func decodeOne(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	objects, err := apply.Decode([]byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("decode: %d objects, %v", len(objects), err)
	}
	return objects[0]
}

func TestReport(t *testing.T) {
	full := report{
		addon: "app", cluster: "cluster1", notes: []string{"a note"},
		addOn: []condition{{Type: "Available", Status: "False", Reason: "NoLease", Message: "no lease"}},
		works: []work{workOf(decodeOne(t, workYAML))},
		pods: []pod{
			{cluster: "cluster1", namespace: "ns", name: "app-1", problem: "Pending", logs: []logTail{{"main", "one\r\ntwo\n"}}},
			{cluster: "hub", namespace: "m", name: "manager-1"},
		},
		events: []event{eventOf("cluster1", &corev1.Event{Reason: "Failed", Message: "no\nimage", Count: 3,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "app-1"}})},
	}
	for _, test := range []struct {
		name   string
		report report
		want   string
	}{
		{"nothing yet", report{addon: "app", cluster: "cluster1"}, "ManagedClusterAddOn cluster1/app:\n  no conditions\n"},
		{"everything; of objects only what is wrong", full, `a note
ManagedClusterAddOn cluster1/app:
  Available=False NoLease: no lease
ManifestWork cluster1/addon-app-deploy-0:
  Applied=False AppliedManifestWorkFailed: Failed to apply manifest work
  Deployment ns/app: Available=False ResourceNotAvailable: not there
  ClusterRole app: Applied=False AppliedManifestFailed: forbidden
pod ns/app-1 on cluster1: Pending
  the end of the log of its container main:
    one
    two
pod m/manager-1 on hub: ready
warning on cluster1: Pod ns/app-1: Failed: no image (3 times)
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.report.String()); diff != "" {
				t.Errorf("String (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwns(t *testing.T) {
	w := workOf(decodeOne(t, workYAML))
	for _, test := range []struct {
		name, namespace, pod string
		want                 bool
	}{
		{"of the Deployment", "ns", "app-5bf66f6f6c-bjdpm", true},
		{"of another namespace", "other", "app-5bf66f6f6c-bjdpm", false},
		{"of another Deployment", "ns", "other-5bf66f6f6c-bjdpm", false},
		{"of no workload", "", "app-1", false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: test.pod}}
		if got := w.owns(pod); got != test.want {
			t.Errorf("%s: owns = %t, want %t", test.name, got, test.want)
		}
	}
}

func TestPodProblem(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
	for _, test := range []struct {
		name   string
		status corev1.PodStatus
		want   string
	}{
		{"ready", corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}}, ""},
		{"completed", corev1.PodStatus{Phase: "Succeeded", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False"}}}, ""},
		{"not scheduled", corev1.PodStatus{Phase: "Pending", Conditions: []corev1.PodCondition{
			{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/1 nodes"}}}, "Pending; not scheduled: Unschedulable: 0/1 nodes"},
		{"refused by the node", corev1.PodStatus{Phase: "Failed", Reason: "HostNetwork", Message: "no host network"}, "Failed; HostNetwork: no host network"},
		{"crashing", corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: waiting, RestartCount: 3,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}},
			"Running; container main: waiting: CrashLoopBackOff: back-off (last exit code 3, 3 restarts)"},
		{"an init container has failed, the next one waits", corev1.PodStatus{Phase: "Pending",
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "no disk"}}}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}},
			"Pending; container init: exit code 1: Error: no disk; container main: waiting: PodInitializing"},
		{"its probe fails", corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}, "Running; container main: running but not ready, 0 restarts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, podProblem(&corev1.Pod{Status: test.status})); diff != "" {
				t.Errorf("podProblem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAvailable(t *testing.T) {
	for _, test := range []struct{ name, object, want string }{
		{"no status", "{kind: ManagedClusterAddOn}", "it has no condition Available yet"},
		{"not available", `{status: {conditions: [{type: Available, status: "False", reason: NoLease, message: no lease}]}}`, "Available=False NoLease: no lease"},
		{"available", `{status: {conditions: [{type: Available, status: "True"}]}}`, ""},
	} {
		got := ""
		if err := available(decodeOne(t, test.object)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: available = %q, want %q", test.name, got, test.want)
		}
	}
}
