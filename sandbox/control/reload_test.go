package control

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// podOf returns a pod of a ReplicaSet, without a controller if owner is empty.
func podOf(name, owner, image string, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
	}
	for _, c := range change {
		c(&pod)
	}
	return pod
}

func ready(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func succeeded(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }

func withoutImage(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
}

func TestUsesImage(t *testing.T) {
	for _, test := range []struct {
		name string
		pod  corev1.Pod
		want bool
	}{
		{"the image", podOf("a", "rs", "app:v1"), true},
		{"another tag", podOf("a", "rs", "app:v2"), false},
		{"an init container", podOf("a", "rs", "other", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Image: "app:v1"}} }), true},
		{"one that is being deleted", podOf("a", "rs", "app:v1", deleting), false},
		{"one that has ended", podOf("a", "job", "app:v1", succeeded), false},
	} {
		if got := usesImage(test.pod, "app:v1"); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestNotReady(t *testing.T) {
	deleted := []corev1.Pod{podOf("a1", "a", "app"), podOf("a2", "a", "app"), podOf("b1", "b", "app")}
	old := map[types.UID]bool{"a1": true, "a2": true, "b1": true, "b0": true}
	for _, test := range []struct {
		name string
		pods []corev1.Pod
		want []string
	}{
		{"a pod of the same Job that had succeeded before", []corev1.Pod{podOf("a3", "a", "app", ready), podOf("a4", "a", "app", ready), podOf("b0", "b", "app", succeeded)},
			[]string{"ReplicaSet ns/b has not created 1 of its pods again"}},
		{"the old pods do not count", []corev1.Pod{podOf("a1", "a", "app", ready), podOf("a2", "a", "app", ready), podOf("b1", "b", "app", ready, deleting)},
			[]string{"ReplicaSet ns/a has not created 2 of its pods again", "ReplicaSet ns/b has not created 1 of its pods again"}},
		{"those that are not ready, and why", []corev1.Pod{podOf("a3", "a", "app", ready), podOf("a4", "a", "app", withoutImage), podOf("b2", "b", "app")},
			[]string{"pod ns/a4 (container app: ImagePullBackOff)", "pod ns/b2"}},
		{"new pods that are being deleted", []corev1.Pod{podOf("a3", "a", "app", ready), podOf("a4", "a", "app", ready, deleting), podOf("b2", "b", "app", ready)},
			[]string{"ReplicaSet ns/a has not created 1 of its pods again"}},
		{"all ready, or done", []corev1.Pod{podOf("a3", "a", "app", ready), podOf("a4", "a", "app", ready), podOf("b2", "b", "app", succeeded), podOf("c", "c", "app"), podOf("d", "", "app")}, nil},
	} {
		if diff := cmp.Diff(test.want, notReady(deleted, newPods(deleted, old, test.pods))); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestReload(t *testing.T) {
	pods := []corev1.Pod{podOf("a1", "a", "app:v1", ready), podOf("bare", "", "app:v1", ready), podOf("other", "a", "other", ready)}
	client := fake.NewClientset(&corev1.PodList{Items: pods})
	// a controller, whose new pods are ready at once
	client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		added := podOf("a2", "a", "app:v1", ready)
		return false, nil, client.Tracker().Add(&added)
	})
	r := &reload{cluster: "cluster1", image: "app", client: client}
	if err := r.begin(t.Context()); err == nil || !strings.Contains(err.Error(), "pod ns/bare was not restarted, because no controller") {
		t.Errorf("error %v", err)
	}
	if err := r.wait(t.Context(), time.Millisecond, time.Millisecond); err != nil {
		t.Error(err)
	}
	list, err := client.CoreV1().Pods("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a2", "bare", "other"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestReloadOfNothing checks that a cluster where no pod was deleted is not waited for, and not even asked.
func TestReloadOfNothing(t *testing.T) {
	if err := (&reload{cluster: "cluster1", image: "app"}).wait(t.Context(), time.Millisecond, time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestReloadTellsWhatIsNotReady(t *testing.T) {
	pod := podOf("a1", "a", "app:v1", ready)
	r := &reload{cluster: "cluster1", image: "app:v1", client: fake.NewClientset(&pod)}
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.wait(ctx, time.Millisecond, time.Millisecond); err == nil || !strings.Contains(err.Error(), "ReplicaSet ns/a has not created 1 of its pods again") {
		t.Errorf("error %v", err)
	}
}
