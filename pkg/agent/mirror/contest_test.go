package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

var (
	start   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	wantOne = wantedOf(&Source{Digest: Digest{1}})
	wantTwo = wantedOf(&Source{Digest: Digest{2}})
)

// fight lets another writer change a copy so long after each repair, for so
// long, and returns when the repairs were made.
func fight(writers contests, answersAfter, lasts time.Duration) []time.Duration {
	var repairs []time.Duration
	for at := time.Duration(0); at < lasts && len(repairs) < 1e6; {
		now := start.Add(at)
		if wait := writers.wait("a", wantOne, now); wait > 0 {
			at += wait
			continue
		}
		writers.wrote("a", wantOne, false, now)
		repairs = append(repairs, at)
		at += answersAfter
	}
	return repairs
}

// TestContestIsPaced: whatever the period of the other writer, it meets at most
// 30 repairs in its first minute, and one a minute after ten.
func TestContestIsPaced(t *testing.T) {
	for _, period := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second,
		10 * time.Second, 30 * time.Second, 59 * time.Second, 2 * time.Minute} {
		t.Run(period.String(), func(t *testing.T) {
			repairs := fight(contests{}, period, time.Hour)
			first, late := 0, map[time.Duration]int{}
			for _, at := range repairs {
				if at < time.Minute {
					first++
				}
				if at >= 10*time.Minute {
					late[at/time.Minute]++
				}
			}
			if first > 30 {
				t.Errorf("%d repairs in the first minute", first)
			}
			for minute, count := range late {
				if count > 1 {
					t.Errorf("%d repairs in minute %d", count, minute)
				}
			}
		})
	}
}

// TestContestDelays: the first repairs are made at once, then the waits double.
func TestContestDelays(t *testing.T) {
	var got []float64
	for _, at := range fight(contests{}, time.Millisecond, 4*time.Minute) {
		got = append(got, at.Round(time.Second).Seconds())
	}
	want := []float64{0, 0, 0, 1, 3, 7, 15, 31, 63, 123, 183}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContests(t *testing.T) {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	// After the fight the last repair was made at 31 s; the next delay is 32 s.
	fought := func() contests {
		c := contests{}
		fight(c, 0, 40*time.Second)
		return c
	}
	tests := []struct {
		name, reason string
		do           func(c contests) any
		want         any
	}{
		{"a repair waits", "another writer would answer it at once", func(c contests) any { return c.wait("a", wantOne, at(40)) }, 23 * time.Second},
		{"a repair after the delay", "its turn has come", func(c contests) any { return c.wait("a", wantOne, at(63)) }, time.Duration(0)},
		{"another name", "it is not contested", func(c contests) any { return c.wait("b", wantOne, at(40)) }, time.Duration(0)},
		{"a change of the source", "it is never starved", func(c contests) any { return c.wait("a", wantTwo, at(40)) }, time.Duration(0)},
		{"the source goes", "it is never starved", func(c contests) any { return c.wait("a", wanted{}, at(40)) }, time.Duration(0)},
		{"a repair after a change of the source", "the other writer is still there", func(c contests) any {
			c.wrote("a", wantTwo, true, at(40))
			return c.wait("a", wantTwo, at(41))
		}, 31 * time.Second},
		{"the source's change is seen again, without other content", "a list or a label changes nothing", func(c contests) any {
			c.wrote("a", wantOne, true, at(63))
			return c.wait("a", wantOne, at(64))
		}, 59 * time.Second},
		{"the copy is deleted with its source", "there is nothing to fight about", func(c contests) any {
			c.wrote("a", wanted{}, true, at(40))
			return len(c)
		}, 0},
		{"the write stands, not long enough", "the other writer may be slow", func(c contests) any { return c.rest("a", wantOne, at(40)) }, 55 * time.Second},
		{"the write stands", "the other writer has stopped", func(c contests) any {
			rest := c.rest("a", wantOne, at(95))
			return []any{rest, len(c)}
		}, []any{time.Duration(0), 0}},
		{"the source changed to what the copy is", "there is nothing to fight about", func(c contests) any {
			rest := c.rest("a", wantTwo, at(40))
			return []any{rest, len(c)}
		}, []any{time.Duration(0), 0}},
		{"a repair long after", "the contest is over", func(c contests) any {
			c.wrote("a", wantOne, false, at(200))
			return c["a"].repairs
		}, 1},
		{"a first write for the source", "no record is kept of what nobody fights about", func(c contests) any {
			c.wrote("b", wantOne, true, at(40))
			return len(c)
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.do(fought())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestOtherManager(t *testing.T) {
	entry := func(manager string, seconds int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at}
	}
	tests := []struct {
		name   string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		{"none", nil, ""},
		{"the agent alone", []metav1.ManagedFieldsEntry{entry("helloworld-agent", 1)}, ""},
		{"the latest of the others", []metav1.ManagedFieldsEntry{entry("old", 1), entry("injector", 3), entry("helloworld-agent", 4), entry("older", 2)}, "injector"},
		{"without a time", []metav1.ManagedFieldsEntry{{Manager: "injector"}}, "injector"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := otherManager(test.fields); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

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

// TestFight: another writer is met at a pace, named, and holds nothing up.
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
	told := w.watcher.failures
	w.watcher.mu.Unlock()
	if diff := cmp.Diff([]string{reason}, reasons(told)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if got, most := countWrites(w.managed.Requests(), "a"), 3+int(time.Since(began)/time.Second); got < 3 || got > most {
		t.Errorf("%d writes within %s, want at most %d", got, time.Since(began), most)
	}
	// A change of the source is not starved.
	w.source("a", "2")
	w.eventually("the change is written at once", func() bool { return countWrites(w.managed.Requests(), "a") > 0 })
	stop()
	// The other writer has the last word until the next repair, or the next
	// change of the source.
	w.source("a", "3")
	w.eventuallyValue("a", "3")
}

func reasons(failures []Failure) []string {
	var list []string
	for _, failure := range failures {
		list = append(list, failure.Reason)
	}
	return list
}

// TestFightOverDeletion: a writer that deletes the copy is met in the same way.
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
