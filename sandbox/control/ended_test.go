package control

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// container sets the state of the container app.
func container(restarts int32, state, last corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: restarts, State: state, LastTerminationState: last}}
	}
}

func exited(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0]}}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

var (
	never   = corev1.ContainerState{}
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
)

func TestEndings(t *testing.T) {
	first, later := container(0, running, never), container(1, running, exited(1))
	end := func(code int32, reason string, restarted bool) []ending {
		return []ending{{namespace: "ns", pod: "a", container: "app", exitCode: code, reason: reason, restarted: restarted}}
	}
	for _, test := range []struct {
		name       string
		ready, now []func(*corev1.Pod)
		want       []ending
	}{
		{"it runs on", []func(*corev1.Pod){first}, []func(*corev1.Pod){first}, nil},
		{"it has ended", []func(*corev1.Pod){first}, []func(*corev1.Pod){container(0, exited(2), never)}, end(2, "Error", false)},
		{"it runs again", []func(*corev1.Pod){first}, []func(*corev1.Pod){container(1, running, exited(2))}, end(2, "Error", true)},
		{"it ended without an error, and runs again", []func(*corev1.Pod){first}, []func(*corev1.Pod){container(1, running, exited(0))}, end(0, "Completed", true)},
		{"it waits for its next start", []func(*corev1.Pod){first}, []func(*corev1.Pod){container(1, waiting(crashLoopBackOff), exited(2))}, end(2, "Error", false)},
		{"it waits for its next start, and has not run longer than when it was ready", []func(*corev1.Pod){later},
			[]func(*corev1.Pod){container(1, waiting(crashLoopBackOff), exited(2))}, end(2, "Error", false)},
		{"it ended again and again, and was never seen ready", nil, []func(*corev1.Pod){container(3, waiting(crashLoopBackOff), exited(2))}, end(2, "Error", false)},
		{"it ended a few times before it was ready", nil, []func(*corev1.Pod){container(2, waiting(crashLoopBackOff), exited(2))}, nil},
		{"it ended once before it was ready", nil, []func(*corev1.Pod){later}, nil},
		{"it ended once before it was ready, and runs on", []func(*corev1.Pod){later}, []func(*corev1.Pod){later}, nil},
		{"it is about to start", nil, []func(*corev1.Pod){container(0, waiting("ContainerCreating"), never)}, nil},
		{"a Job's, which is done", []func(*corev1.Pod){first}, []func(*corev1.Pod){container(0, exited(0), never), succeeded}, nil},
	} {
		var ready []corev1.Pod
		if test.ready != nil {
			ready = []corev1.Pod{podOf("a", "rs", "app", test.ready...)}
		}
		got := endings(ready, []corev1.Pod{podOf("a", "rs", "app", test.now...)})
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(ending{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestReloadOfAProgramThatEnds checks that pods which are ready for a moment alone do not count.
func TestReloadOfAProgramThatEnds(t *testing.T) {
	pod := podOf("a1", "a", "app:v1", ready)
	client := fake.NewClientset(&pod)
	client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		added := podOf("a2", "a", "app:v1", ready, container(0, running, never))
		return false, nil, client.Tracker().Add(&added)
	})
	lists := 0
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lists++; lists == 3 { // begin's, the first that finds the new pod ready, the second
			crashed := podOf("a2", "a", "app:v1", container(1, waiting(crashLoopBackOff), exited(2)))
			return true, &corev1.PodList{Items: []corev1.Pod{crashed}}, nil
		}
		return false, nil, nil
	})
	r := &reload{cluster: "cluster1", image: "app:v1", client: client}
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "the new pods do not stay ready\npod ns/a2: container app ended with exit code 2 (Error); from its log:\n    fake logs"
	if err := r.wait(t.Context(), time.Millisecond, time.Millisecond); err == nil || err.Error() != want {
		t.Errorf("wait = %v, want %q", err, want)
	}
}

// TestExplain checks that the log of one replica of many is enough.
func TestExplain(t *testing.T) {
	r := &reload{client: fake.NewClientset()}
	err := r.explain(t.Context(), []ending{
		{"ns", "a", "app", 2, "Error", true}, {"ns", "a", "proxy", 1, "Error", false}, {"ns", "b", "app", 2, "Error", true}})
	const want = "the new pods do not stay ready\n" +
		"pod ns/a: container app ended with exit code 2 (Error); from its log:\n    fake logs\n" +
		"pod ns/a: container proxy ended with exit code 1 (Error); from its log:\n    fake logs\n" +
		"pod ns/b: container app ended with exit code 2 (Error)"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("explain (-want +got):\n%s", diff)
	}
}

func TestIndented(t *testing.T) {
	frames := strings.Repeat("frame\n", 3*logLines)
	for _, test := range []struct{ name, log, want string }{
		{"an empty log", "", ", and its log is empty"},
		{"a short one", "one\r\ntwo\n", "; from its log:\n    one\n    two"},
		{"a panic with a long stack", "started\npanic: no table\n\n" + frames,
			"; from its log:\n    started\n    panic: no table\n    " + strings.Repeat("\n    frame", logLines-3)},
	} {
		if diff := cmp.Diff(test.want, indented(test.log)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestReloadRefusesAnUnknownImage checks that it does so before it asks a cluster.
func TestReloadRefusesAnUnknownImage(t *testing.T) {
	deleted, err := newSandbox(t).Reload(t.Context(), "app:v1", time.Second)
	if deleted != 0 || err == nil || !strings.HasPrefix(err.Error(), `image "app:v1" is not known to the sandbox`) {
		t.Errorf("Reload = %d, %v", deleted, err)
	}
}

func TestCheckImage(t *testing.T) {
	for _, test := range []struct {
		name  string
		known []string
		want  string
	}{
		{"a known one", []string{"app:v1"}, ""},
		{"another tag of a known one", []string{"app:v2"}, `image "app:v1" is not known to the sandbox: did you mean app:v2?`},
		{"others", []string{"one", "two"}, `image "app:v1" is not known to the sandbox, which has one, two: add it with ocm-sandbox image go app:v1 PACKAGE`},
		{"none", nil, `which has no images: add it`},
	} {
		err := checkImage("app:v1", test.known)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
