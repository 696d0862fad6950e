package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// fights overwrites the copy of name each time it is put back, until stop is
// called or the test ends.
func (w *world) fights(name string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	now := metav1.Now()
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			if w.value(name) != "theirs" {
				w.target(name, "theirs", owned, func(cm *corev1.ConfigMap) {
					cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "injector", Time: &now}}
				})
			}
		}
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			close(done)
			<-ended
		}
	}
	w.t.Cleanup(stop)
	return stop
}

func countWrites(requests []fakeapi.Request, name string) int {
	count := 0
	for _, write := range writes(requests) {
		if strings.HasSuffix(write, "/"+name) {
			count++
		}
	}
	return count
}

// TestFight: another writer keeps changing a copy. The mirror repairs it at a limited
// rate, names the writer, and delays no other name (docs/design.md#rule-11-contest).
func TestFight(t *testing.T) {
	w := newWorld(t)
	w.source("a", "1")
	w.start()
	w.eventuallyValue("a", "1")
	w.managed.Requests()
	began := time.Now()
	stop := w.fights("a")
	for i := range 200 {
		// The other names are written at once.
		w.source("b", strings.Repeat("x", i))
		time.Sleep(10 * time.Millisecond)
	}
	w.eventuallyValue("b", strings.Repeat("x", 199))
	if got := w.controller.Summary(); len(got.Contested) != 1 || got.Contested[0].Name != "a" || got.Synced != 1 || got.Pending != 0 {
		t.Errorf("summary %+v", got)
	}
	reason := "another writer (injector) keeps changing or deleting ConfigMap copies/a on cluster cluster1, which is put back at most once a second, " +
		"and in the end once a minute: stop that writer, or stop the copying: kubectl label configmap a -n cluster1 " +
		"helloworld.open-cluster-management.io/sync=disabled (on the hub)"
	w.watcher.mu.Lock()
	reported := w.watcher.failures
	w.watcher.mu.Unlock()
	if diff := cmp.Diff([]string{reason}, reasons(reported)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if got, most := countWrites(w.managed.Requests(), "a"), 3+int(time.Since(began)/time.Second); got < 3 || got > most {
		t.Errorf("%d writes within %s, want at most %d", got, time.Since(began), most)
	}
	// A change of the source is written at once.
	w.source("a", "2")
	w.eventually("the change is written at once", func() bool { return countWrites(w.managed.Requests(), "a") > 0 })
	stop()
	// The other writer has the last word until the next repair, or the next
	// change of the source.
	w.source("a", "3")
	w.eventuallyValue("a", "3")
}

func reasons(failures []plan.Failure) []string {
	var list []string
	for _, failure := range failures {
		list = append(list, failure.Reason)
	}
	return list
}

// TestFightOverDeletion: the same for a writer that deletes the copy.
func TestFightOverDeletion(t *testing.T) {
	w := newWorld(t)
	w.source("a", "1")
	w.start()
	w.eventuallyValue("a", "1")
	w.managed.Requests()
	creates := 0
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.managed.Remove("configmaps", "copies", "a")
		for _, r := range w.managed.Requests() {
			if r.Verb == "create" {
				creates++
			}
		}
	}
	if creates < 3 || creates > 5 {
		t.Errorf("%d creates within 2 s", creates)
	}
	if got := w.controller.Summary().Contested; len(got) != 1 || !strings.HasPrefix(got[0].Reason, "another writer keeps") {
		t.Errorf("contested: %v", got)
	}
}

// TestContestedWriteHasNoLatency: the delay of a contested copy's repair does not count
// as latency, also when the source changed meanwhile without other content.
func TestContestedWriteHasNoLatency(t *testing.T) {
	w := newWorld(t)
	now := clocktesting.NewFakeClock(start)
	w.clock = now
	written := func(what string) {
		t.Helper()
		w.eventually(what, func() bool {
			now.Step(10 * time.Millisecond)
			return w.value("a") == "1"
		})
	}
	w.source("a", "1")
	w.start()
	written("copied")
	for range 3 {
		w.target("a", "theirs", owned)
		written("repaired")
	}
	w.target("a", "theirs", owned)
	w.eventually("contested", func() bool { return len(w.controller.Summary().Contested) == 1 })
	looks := w.looks.Load()
	w.source("a", "1", label("team", "blue"))
	w.eventually("the change waits", func() bool {
		return w.controller.queue.Len() == 0 && w.looks.Load() > looks
	})
	before := w.watcher.unmeasured()
	now.Step(time.Minute)
	written("repaired after the delay")
	w.eventually("the repair has no latency", func() bool { return w.watcher.unmeasured() == before+1 })
}
