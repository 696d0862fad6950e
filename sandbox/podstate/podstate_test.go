package podstate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func TestStatuses(t *testing.T) {
	got := Statuses(&corev1.Pod{Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main"}}, InitContainerStatuses: []corev1.ContainerStatus{{Name: "init"}}}})
	if diff := cmp.Diff([]corev1.ContainerStatus{{Name: "init"}, {Name: "main"}}, got); diff != "" {
		t.Errorf("Statuses (-want +got):\n%s", diff)
	}
}

func TestReady(t *testing.T) {
	for _, test := range []struct {
		name   string
		status corev1.PodStatus
		want   bool
	}{
		{"no condition yet", corev1.PodStatus{Phase: "Running"}, false},
		{"not ready", corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False"}}}, false},
		{"ready", corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}}, true},
		{"a Job's, which has succeeded", corev1.PodStatus{Phase: "Succeeded", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False"}}}, true},
	} {
		if got := Ready(&corev1.Pod{Status: test.status}); got != test.want {
			t.Errorf("%s: Ready = %t, want %t", test.name, got, test.want)
		}
	}
}

func TestTail(t *testing.T) {
	client := fake.NewClientset()
	if got := Tail(t.Context(), client.CoreV1().Pods("ns"), "app", "main", true); got != "fake logs" {
		t.Errorf("Tail = %q", got)
	}
	options := client.Actions()[0].(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
	want := &corev1.PodLogOptions{Container: "main", Previous: true, TailLines: ptr.To[int64](200)}
	if diff := cmp.Diff(want, options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestExcerpt(t *testing.T) {
	stack := []string{"begin", "work", "panic: no table", ""}
	for i := range 30 {
		stack = append(stack, fmt.Sprint("frame ", i))
	}
	for _, test := range []struct {
		name, log string
		n         int
		want      []string
	}{
		{"a short log", "one\r\ntwo\n", 3, []string{"one", "two"}},
		{"the end of a long one", "one\ntwo\nthree", 2, []string{"two", "three"}},
		{"the message of a panic, and a quarter before", strings.Join(stack, "\n"), 4, stack[1:5]},
		{"a panic whose stack is short", "one\ntwo\npanic: x\nstack", 3, []string{"two", "panic: x", "stack"}},
		{"no line is left", "panic: x\ny", 0, []string{}},
	} {
		if diff := cmp.Diff(test.want, Excerpt(test.log, test.n)); diff != "" {
			t.Errorf("%s: Excerpt (-want +got):\n%s", test.name, diff)
		}
	}
}
