package sandboxtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestSummarize(t *testing.T) {
	manager := pod{cluster: "hub", name: "manager"}
	crashing := pod{cluster: "cluster2", name: "app", problem: "Running", owned: true}
	available := []condition{{Type: "Available", Status: "True", Reason: "Fine"}}
	for _, test := range []struct {
		name      string
		inspected []*report
		more      int
		want      []string
	}{
		{"no add-on is enabled", nil, 0, nil},
		{"first pods with a problem; a pod of the hub once", []*report{
			{addon: "app", cluster: "cluster1", addOn: available, pods: []pod{manager}},
			{addon: "app", cluster: "cluster2", addOn: available, pods: []pod{crashing, manager}},
		}, 0, []string{
			"the add-on app on cluster2:\npod app on cluster2: Running\nManagedClusterAddOn cluster2/app:\n  Available=True Fine\npod manager on hub: ready",
			"the add-on app on cluster1:\nManagedClusterAddOn cluster1/app:\n  Available=True Fine",
		}},
		{"with the add-on's own pod, though it is on the hub and another report has it", []*report{
			{addon: "a", cluster: "hub", pods: []pod{{cluster: "hub", name: "b"}}},
			{addon: "b", cluster: "hub", pods: []pod{{cluster: "hub", name: "b", owned: true}}},
		}, 0, []string{
			"the add-on a on hub:\npod b on hub: ready",
			"the add-on b on hub:\npod b on hub: ready",
		}},
		{"at most three, those that are not available before others", []*report{
			{addon: "a", cluster: "cluster1", addOn: available}, {addon: "b", cluster: "cluster1"}, {addon: "c", cluster: "cluster1"}, {addon: "d", cluster: "cluster1"},
		}, 7, []string{
			"the add-on b on cluster1:\n",
			"the add-on c on cluster1:\n",
			"the add-on d on cluster1:\n",
			"enabled add-ons that are not shown: 8",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summarize(test.inspected, test.more)); diff != "" {
				t.Errorf("summarize (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDropSeen checks that what one report has left out is in the next one.
func TestDropSeen(t *testing.T) {
	one, two := &report{}, &report{}
	for i := range maxEvents + 1 {
		p, e := pod{name: fmt.Sprint(i)}, event{object: fmt.Sprint(i)}
		one.pods, one.events = append(one.pods, p), append(one.events, e)
		two.pods, two.events = append(two.pods, p), append(two.events, e)
	}
	seen := map[string]bool{}
	one.dropSeen(seen)
	two.dropSeen(seen)
	if len(two.pods) != maxEvents+1-maxPods || two.pods[0].name != "10" || len(two.events) != 1 || two.events[0].object != "20" {
		t.Errorf("the second report has the pods %v and the events %v", two.pods, two.events)
	}
}

func TestAlreadyShown(t *testing.T) {
	var all alreadyShown
	for _, test := range []string{"TestA", "TestA/sub", "TestAB"} {
		all.add(test, "of "+test)
	}
	for _, test := range []struct {
		name, test string
		want       []string
	}{
		{"a subtest", "TestA/sub", []string{"of TestA/sub"}},
		{"a further run of it", "TestA/sub", nil},
		{"a test, whose subtest has taken its own", "TestA", []string{"of TestA", "of TestA/sub"}},
		{"a further run of the test", "TestA", nil},
	} {
		if diff := cmp.Diff(test.want, all.take(test.test)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestSummaryInTime checks that what a hub does not answer in time is counted.
func TestSummaryInTime(t *testing.T) {
	s := slowHub(t, func() {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if diff := cmp.Diff([]string{"enabled add-ons that are not shown: 2"}, s.summary(ctx, []string{"known"})); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// slowHub returns a sandbox whose hub tells which add-ons are enabled, and answers nothing else. It calls
// asked before its first answer.
func slowHub(t *testing.T, asked func()) *Sandbox {
	t.Helper()
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(asked)
		if !strings.HasSuffix(r.URL.Path, "/managedclusteraddons") {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "ManagedClusterAddOnList", "apiVersion": "addon.open-cluster-management.io/v1alpha1", "items": [
			{"kind": "ManagedClusterAddOn", "apiVersion": "addon.open-cluster-management.io/v1alpha1", "metadata": {"name": "known", "namespace": "cluster1"}},
			{"kind": "ManagedClusterAddOn", "apiVersion": "addon.open-cluster-management.io/v1alpha1", "metadata": {"name": "a", "namespace": "cluster1"}},
			{"kind": "ManagedClusterAddOn", "apiVersion": "addon.open-cluster-management.io/v1alpha1", "metadata": {"name": "b", "namespace": "cluster1"}}]}`)
	}))
	t.Cleanup(server.Close)
	s := &Sandbox{dir: t.TempDir()}
	s.hubs = []*Cluster{{sandbox: s, name: "hub", programs: "hub", config: &rest.Config{Host: server.URL}}}
	return s
}

// logged is a test whose log is recorded.
type logged struct {
	withDeadline
	lines []string
}

func (l *logged) Log(args ...any) { l.lines = append(l.lines, fmt.Sprint(args...)) }

func (l *logged) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// TestKeepCollectsFirst checks that the reports, which may take time, come after the collection, and end
// before the deadline of go test.
func TestKeepCollectsFirst(t *testing.T) {
	fakeProgram(t, `echo "$3" >"$0.collected"`)
	t.Setenv("OCM_SANDBOX_KEEP", t.TempDir())
	file := os.Getenv("OCM_SANDBOX") + ".collected"
	s := slowHub(t, func() {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the reports come before the collection: %v", err)
		}
	})
	s.program.path = os.Getenv("OCM_SANDBOX")
	deadline := time.Now().Add(3 * time.Second)
	l := &logged{withDeadline: withDeadline{t, deadline}}
	s.keep(l)
	if time.Now().After(deadline) {
		t.Error("keep has taken longer than go test allows")
	}
	collected, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"enabled add-ons that are not shown: 3", "the sandbox's logs, events and objects are kept in " + strings.TrimSpace(string(collected))}
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
