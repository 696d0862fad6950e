package sandboxtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

func TestPodsOf(t *testing.T) {
	s := &Sandbox{}
	hub, self, first := &Cluster{sandbox: s, name: "hub", programs: "hub"}, &Cluster{sandbox: s, name: "self", programs: "hub"},
		&Cluster{sandbox: s, name: "cluster1", programs: "cluster1"}
	s.hubs, s.clusters = []*Cluster{hub}, []*Cluster{first, self}
	named := func(namespace, name string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: corev1.PodStatus{Phase: phase}}
	}
	list := []corev1.Pod{named("ns", "other-1", "Succeeded"), named("ns", "app-1", "Succeeded"), named("ns", "other-2", "Failed"), named("ns", "app-2", "Failed")}
	for _, test := range []struct {
		name    string
		cluster *Cluster
		work    string
		want    []string
	}{
		{"a managed cluster; those with a problem come first", first, "cluster1", []string{"app-2 owned", "app-1 owned"}},
		{"a cluster of another work", first, "self", nil},
		{"the hub", hub, "cluster1", []string{"other-2", "app-2", "other-1", "app-1"}},
		{"the hub, which manages itself", hub, "self", []string{"app-2 owned", "other-2", "app-1 owned", "other-1"}},
	} {
		r := &report{works: []work{{namespace: test.work, objects: []object{{kind: "Deployment", namespace: "ns", name: "app"}}}}}
		var got []string
		pods := r.podsOf(test.cluster, list)
		sortPods(pods)
		for _, p := range pods {
			name := p.name
			if p.owned {
				name += " owned"
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestTails checks that the log of the run before a restart, which has its cause, is read as well.
func TestTails(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	client := fake.NewClientset()
	tails(t.Context(), client.CoreV1(), &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "restarted", State: running, RestartCount: 1}, {Name: "waits", State: waiting, RestartCount: 1}, {Name: "runs", State: running}}}})
	var got []string
	for _, action := range client.Actions() {
		options := action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
		name := options.Container
		if options.Previous {
			name += " before"
		}
		got = append(got, name)
	}
	if diff := cmp.Diff([]string{"restarted before", "restarted", "waits", "runs"}, got); diff != "" {
		t.Errorf("logs that are read (-want +got):\n%s", diff)
	}
}

// TestLook checks that what WaitAvailable reads again and again has neither logs nor events.
func TestLook(t *testing.T) {
	var mutex sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		if name := path.Base(r.URL.Path); name == "log" || name == "events" {
			asked = append(asked, name)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a", "namespace": "ns"}, "status": {"containerStatuses": [{"name": "main"}]}}]}`)
	}))
	defer server.Close()
	s := &Sandbox{}
	s.hubs = []*Cluster{{sandbox: s, name: "hub", programs: "hub", config: &rest.Config{Host: server.URL}}}
	for _, test := range []struct {
		name string
		read func(ctx context.Context, addon, cluster string) *report
		want []string
	}{{"look", s.look, nil}, {"inspect", s.inspect, []string{"log", "events"}}} {
		asked = nil
		if r := test.read(t.Context(), "app", "hub"); len(r.pods) != 1 {
			t.Errorf("%s has the pods %v", test.name, r.pods)
		}
		if diff := cmp.Diff(test.want, asked); diff != "" {
			t.Errorf("%s reads (-want +got):\n%s", test.name, diff)
		}
	}
}
