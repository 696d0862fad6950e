package sandboxtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
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

// numbered returns the lines line 0, line 1 and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// indented returns the lines of a log from the n-th on as a report has them.
func indented(log string, n int) string {
	return "    " + strings.Join(strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")[n:], "    ") + "\n"
}

func TestReport(t *testing.T) {
	full := report{
		addon: "app", cluster: "cluster1", notes: []string{"a note"}, notEnabled: true,
		addOn: []condition{{Type: "Available", Status: "False", Reason: "NoLease", Message: "no lease"}},
		works: []work{workOf(decodeOne(t, workYAML)), {namespace: "cluster1", name: "new"}},
		pods: []pod{
			{cluster: "cluster1", namespace: "ns", name: "app-1", problem: "Pending", owned: true, logs: []logTail{
				{container: "main", previous: true, lines: "one\r\ntwo\n"}, {container: "main", lines: "three\n"}}},
			{cluster: "hub", namespace: "m", name: "other-1", problem: "Failed"},
			{cluster: "cluster1", namespace: "ns", name: "app-2", owned: true},
			{cluster: "hub", namespace: "m", name: "manager-1", logs: []logTail{{container: "main", lines: numbered(30)}}},
		},
		events: []event{eventOf("cluster1", &corev1.Event{Reason: "Failed", Message: "no\nimage", Count: 3,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "app-1"}})},
	}
	crashing := pod{cluster: "hub", name: "a", problem: "Failed", logs: []logTail{{container: "c", lines: numbered(100)}}}
	for _, test := range []struct {
		name   string
		report report
		want   string
	}{
		{"nothing was read", report{}, ""},
		{"the logs of crashing containers are limited, and leave place for the conditions", report{addon: "app", cluster: "cluster1",
			addOn: []condition{{Type: "Available", Status: "False"}}, pods: slices.Repeat([]pod{crashing}, 4)},
			strings.Repeat("pod a on hub: Failed\n  the end of the log of its container c:\n"+indented(numbered(100), 80), 3) +
				"pod a on hub: Failed\nManagedClusterAddOn cluster1/app:\n  Available=False "},
		{"pods and warnings are limited", report{pods: make([]pod, 12), events: make([]event, 21)},
			strings.Repeat("pod  on : ready\n", 10) + strings.Repeat("warning on : : : \n", 20) + "not shown: pods: 2, warnings: 1"},
		{"everything; of objects only what is wrong", full, `the hub has no ManagedClusterAddOn cluster1/app: call Enable
a note
pod ns/app-1 on cluster1: Pending
  the end of the log of its container main before its last restart:
    one
    two
  the end of the log of its container main:
    three
pod m/other-1 on hub: Failed
ManagedClusterAddOn cluster1/app:
  Available=False NoLease: no lease
ManifestWork cluster1/addon-app-deploy-0:
  Applied=False AppliedManifestWorkFailed: Failed to apply manifest work
  Deployment ns/app: Available=False ResourceNotAvailable: not there
  ClusterRole app: Applied=False AppliedManifestFailed: forbidden
ManifestWork cluster1/new:
  no conditions
pod ns/app-2 on cluster1: ready
pod m/manager-1 on hub: ready
  the end of the log of its container main:
` + indented(numbered(30), 10) + `warning on cluster1: Pod ns/app-1: Failed: no image (3 times)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.report.String()); diff != "" {
				t.Errorf("String (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	const (
		image  = `the image "app:v1" is not known to the sandbox: add the option Image("app:v1", GoMain(PACKAGE)), or Dir or Archive instead of GoMain`
		name   = "the hub has no ClusterManagementAddOn app: apply it, or correct the add-on's name"
		enable = "the hub has no ManagedClusterAddOn cluster1/app: call Enable"
		placed = "the hub has no ManagedClusterAddOn cluster1/app: does a placement of the ClusterManagementAddOn select the cluster?"
		work   = "the hub has no ManifestWork of the add-on: does its manager run, and does it support this cluster?"
	)
	waiting := pod{cluster: "cluster1", namespace: "ns", owned: true, problem: "Pending", unknownImages: []string{"app:v1"}}
	starting := pod{cluster: "cluster1", namespace: "ns", owned: true, problem: "Pending"}
	manager := pod{cluster: "hub", namespace: "m", problem: "Pending", unknownImages: []string{"app:v1"}}
	operator := pod{cluster: "hub", namespace: "m", problem: "Pending"}
	agent := pod{cluster: "hub", namespace: "open-cluster-management-agent-addon"}
	ready := pod{cluster: "hub", namespace: "m", ready: true}
	for _, test := range []struct {
		name     string
		report   report
		want     []string
		hopeless bool
	}{
		{"its manager has done nothing yet", report{noWorks: true}, []string{work}, false},
		{"no ClusterManagementAddOn, and not enabled", report{unmanaged: true, notEnabled: true, noWorks: true}, []string{name, enable}, true},
		{"not enabled by a placement yet", report{notEnabled: true, placed: true, noWorks: true}, []string{placed}, false},
		{"an operator that may apply them is starting", report{unmanaged: true, notEnabled: true, noWorks: true, pods: []pod{operator}}, []string{name, enable}, false},
		{"a ready manager has not enabled it", report{notEnabled: true, noWorks: true, pods: []pod{ready}}, []string{enable}, true},
		{"what would apply them has an unknown image", report{unmanaged: true, noWorks: true, pods: []pod{manager}}, []string{name, image}, true},
		{"an agent on a hub that manages itself applies nothing", report{notEnabled: true, noWorks: true, pods: []pod{agent}}, []string{enable}, true},
		{"an add-on without a ClusterManagementAddOn whose agent starts", report{unmanaged: true, pods: []pod{starting}}, []string{name}, false},
		{"the pods could not be read", report{unmanaged: true, notes: []string{"cannot read the pods"}}, []string{name}, false},
		{"its pods have an unknown image", report{pods: []pod{waiting, waiting}}, []string{image}, true},
		{"another pod of it is starting, which may count", report{pods: []pod{waiting, starting}}, []string{image}, false},
		{"a pod on the hub is ready, which does not count", report{pods: []pod{waiting, operator}}, []string{image}, true},
		{"its manager has an unknown image", report{noWorks: true, pods: []pod{manager}}, []string{image}, true},
		{"a ready manager beside a pod with an unknown image", report{noWorks: true, pods: []pod{manager, ready}}, []string{image}, false},
		{"a manager that starts beside it", report{noWorks: true, pods: []pod{manager, operator}}, []string{image}, false},
		{"its pods end always", report{pods: []pod{{owned: true, crashing: true}, waiting}}, []string{image}, true},
		{"an unrelated pod, as the add-on has a ManifestWork", report{pods: []pod{manager}}, nil, false},
	} {
		test.report.addon, test.report.cluster = "app", "cluster1"
		if diff := cmp.Diff(test.want, test.report.missing()); diff != "" || test.report.hopeless() != test.hopeless {
			t.Errorf("%s: hopeless = %t, want %t; missing (-want +got):\n%s", test.name, test.report.hopeless(), test.hopeless, diff)
		}
	}
}

// TestUnknownImages takes the message of the sandbox's node.
func TestUnknownImages(t *testing.T) {
	for _, test := range []struct {
		policy  corev1.PullPolicy
		known   []string
		similar string
	}{{corev1.PullIfNotPresent, nil, ""}, {corev1.PullNever, []string{"other"}, "app:v2"}} {
		container := corev1.Container{Name: "main", Image: "app:v1", ImagePullPolicy: test.policy}
		reason, cause := plan.MissingImage(container, test.known, test.similar)
		waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "Back-off: " + cause.Error()}}
		got := podOf("cluster1", &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "side", Image: "side:v1"}, container}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "side"}, {Name: "main", State: waiting}}}})
		if diff := cmp.Diff([]string{"app:v1"}, got.unknownImages); diff != "" {
			t.Errorf("%s: unknown images (-want +got):\n%s", reason, diff)
		}
	}
}

func TestCrashing(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for _, test := range []struct {
		name   string
		status corev1.ContainerStatus
		want   bool
	}{
		{"it may wait for a CRD", corev1.ContainerStatus{State: waiting, LastTerminationState: ended, RestartCount: 2}, false},
		{"it has had half a minute", corev1.ContainerStatus{State: waiting, LastTerminationState: ended, RestartCount: 3}, true},
		{"it runs again", corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended, RestartCount: 3}, false},
	} {
		got := podOf("cluster1", &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{test.status}}})
		if got.crashing != test.want {
			t.Errorf("%s: crashing = %t, want %t", test.name, got.crashing, test.want)
		}
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
		{"ready again", corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 2, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}}}}}, "ready; container main: 2 restarts, last exit code 2"},
		{"ready after one restart", corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}}}}}, "ready; container main: 1 restart, last exit code 2"},
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
