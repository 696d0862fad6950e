package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

func answer(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: fmt.Sprintf("answer %d", code), Details: &metav1.StatusDetails{Causes: causes}}}
}

// TestHubInTrouble: with every kind of error from the hub the copies stay, Ready
// returns the error, the requests are few, and the mirror recovers by itself.
func TestHubInTrouble(t *testing.T) {
	const watched = 1500 * time.Millisecond
	tests := []struct {
		name string
		err  *apierrors.StatusError
	}{
		{"no right", answer(http.StatusForbidden, metav1.StatusReasonForbidden)},
		{"no identity", answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)},
		{"conflict", answer(http.StatusConflict, metav1.StatusReasonConflict)},
		{"too many requests", answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)},
		{"internal error", answer(http.StatusInternalServerError, metav1.StatusReasonInternalError)},
		{"not served", answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)},
		{"expired", answer(http.StatusGone, metav1.StatusReasonExpired)},
		{"gone", answer(http.StatusGone, metav1.StatusReasonGone)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var down atomic.Bool
			w.hub.Before = func(fakeapi.Request) *apierrors.StatusError {
				if down.Load() {
					return test.err
				}
				return nil
			}
			w.source("a", "1")
			w.source("b", "1")
			w.start()
			w.eventually("copied", func() bool { return w.value("a")+w.value("b") == "11" })
			down.Store(true)
			w.hub.EndWatches()
			w.hub.Forget()
			w.hub.Remove("configmaps", "cluster1", "b")
			w.source("c", "1")
			w.eventually("reports why", func() bool {
				err := w.controller.Ready()
				return err != nil && strings.Contains(err.Error(), test.err.ErrStatus.Message)
			})
			w.hub.Requests()
			start, requests := time.Now(), 0
			for time.Since(start) < watched {
				requests += len(w.hub.Requests())
				if w.value("a")+w.value("b")+w.value("c") != "11-" {
					t.Fatalf("the copies are %s, %s and %s", w.value("a"), w.value("b"), w.value("c"))
				}
				time.Sleep(10 * time.Millisecond)
			}
			// An informer's own back-off begins at 0.8 s and doubles; a list and
			// a watch each time.
			if requests > 8 {
				t.Errorf("%d requests in %s", requests, watched)
			}
			down.Store(false)
			w.eventually("recovered", func() bool { return w.value("a")+w.value("b")+w.value("c") == "1-1" })
			w.eventually("ready", func() bool { return w.controller.Ready() == nil })
		})
	}
}

// TestHubThatDoesNotAnswer: requests hang, and the copies stay.
func TestHubThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	hang := make(chan struct{})
	var down atomic.Bool
	w.hub.Before = func(fakeapi.Request) *apierrors.StatusError {
		if down.Load() {
			<-hang
		}
		return nil
	}
	w.source("a", "1")
	w.start()
	w.eventuallyValue("a", "1")
	down.Store(true)
	w.hub.EndWatches()
	w.hub.Requests()
	w.target("a", "drift", owned)
	w.eventuallyValue("a", "1")
	w.source("b", "1")
	if got := len(w.hub.Requests()); got > 2 {
		t.Errorf("%d requests while one hangs", got)
	}
	down.Store(false)
	close(hang)
	w.eventuallyValue("b", "1")
}

// TestManagedClusterInTrouble: refused writes are reported and retried at a limited
// rate, and all succeed soon after the trouble is over.
func TestManagedClusterInTrouble(t *testing.T) {
	const names = 500
	tests := []struct {
		name string
		err  *apierrors.StatusError
	}{
		{"no right", answer(http.StatusForbidden, metav1.StatusReasonForbidden)},
		{"the namespace goes", answer(http.StatusForbidden, metav1.StatusReasonForbidden, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})},
		{"no namespace", answer(http.StatusNotFound, metav1.StatusReasonNotFound)},
		{"internal error", answer(http.StatusInternalServerError, metav1.StatusReasonInternalError)},
		{"too large", answer(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var down atomic.Bool
			down.Store(true)
			w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if down.Load() && r.Verb == "create" {
					return test.err
				}
				return nil
			}
			for i := range names {
				w.source(fmt.Sprintf("n%d", i), "1")
			}
			w.start()
			w.eventually("all reported", func() bool { return len(w.failed()) == names })
			if f := w.failed()[0]; f.Kind != plan.Create || !strings.Contains(f.Reason, test.err.ErrStatus.Message) {
				t.Errorf("reported %v", f)
			}
			if s := w.controller.Summary(); s.Wanted != names || s.Synced != 0 || len(s.Failed) != names || s.Pending != 0 {
				t.Errorf("summary: %d wanted, %d synced, %d failed, %d pending", s.Wanted, s.Synced, len(s.Failed), s.Pending)
			}
			w.eventually("at most so many writes in half a second", func() bool {
				w.managed.Requests()
				start := time.Now()
				for time.Since(start) < time.Second/2 {
					time.Sleep(10 * time.Millisecond)
				}
				return len(writes(w.managed.Requests())) <= retriesPerSecond
			})
			down.Store(false)
			recovered := time.Now()
			w.eventually("all written", func() bool { return len(w.failed()) == 0 })
			// One by one it would be 50 s.
			if took := time.Since(recovered); took > 15*time.Second {
				t.Errorf("recovering took %s", took)
			}
		})
	}
}

// TestOneThatFailsForGood: a name that always fails does not delay the others, and is
// not tried more often because they succeed.
func TestOneThatFailsForGood(t *testing.T) {
	w := newWorld(t)
	w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "update" && r.Name == "bad" {
			return answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		}
		return nil
	}
	w.source("bad", "1")
	w.target("bad", "0", owned)
	w.start()
	w.eventually("reported", func() bool { return len(w.failed()) == 1 })
	for i := range 200 {
		w.source(fmt.Sprintf("n%d", i), "1")
	}
	w.eventuallyValue("n199", "1")
	tries := 0
	for _, r := range writes(w.managed.Requests()) {
		if strings.Contains(r, "/bad") {
			tries++
		}
	}
	if tries > 15 {
		t.Errorf("%d tries of what fails", tries)
	}
	if s := w.controller.Summary(); len(s.Failed) != 1 || s.Failed[0].Name != "bad" {
		t.Errorf("failed: %v", s.Failed)
	}
}

// TestPace: the retries of all names together are limited.
func TestPace(t *testing.T) {
	c := New(Config{Scope: scope, Clock: clocktesting.NewFakeClock(start), Observer: &watcher{}})
	t.Cleanup(c.queue.ShutDown)
	down := errors.New("no answer")
	for i := range 10 * retryBurst {
		c.backOff(fmt.Sprint("n", i), down)
	}
	if wait := c.backOff("a", down); wait < 50*time.Second {
		t.Errorf("the 1,001st of many failures waits %s only", wait)
	}
	if wait := c.backOff("a", nil); wait > 0 {
		t.Errorf("a name that works waits %s", wait)
	}
	c.report(klog.Background(), plan.Change{Cleared: true, NoneLeft: true}, "a", nil)
	if wait := c.backOff("a", down); wait > 20*time.Millisecond {
		t.Errorf("when all is well again the first failure waits %s", wait)
	}
}

// TestAtTheLimits: the longest name and the largest data that the API allows, 1 MiB.
func TestAtTheLimits(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("n", 253)
	value := strings.Repeat("v", 1<<20-len("k"))
	w.source(name, value)
	w.start()
	w.eventuallyValue(name, value)
	w.hub.Remove("configmaps", "cluster1", name)
	w.eventuallyValue(name, "-")
}

// TestGateCloses: a mirror that may not write does not, and catches up when it may.
func TestGateCloses(t *testing.T) {
	w := newWorld(t)
	w.source("a", "1")
	w.start()
	w.eventuallyValue("a", "1")
	stopped := fmt.Errorf("stopped")
	w.closed.Store(&stopped)
	w.managed.Remove("configmaps", "copies", "a")
	w.source("b", "1")
	w.eventually("both seen", func() bool {
		return w.controller.sources.Get("cluster1", "b") != nil && w.controller.copies.Get("copies", "a") == nil
	})
	w.eventually("looked at", func() bool { return w.controller.queue.Len() == 0 })
	if w.value("a")+w.value("b") != "--" {
		t.Error("wrote though it was stopped")
	}
	w.closed.Store(nil)
	w.controller.Resync()
	w.eventually("caught up", func() bool { return w.value("a")+w.value("b") == "11" })
}

// TestAnswersTheMarker: docs/design.md#uninstall.
func TestAnswersTheMarker(t *testing.T) {
	const marker = "helloworld-agent-uninstall"
	w := newWorld(t)
	w.source(marker, "never copied")
	w.start()
	w.settled("first")
	w.eventually("the one that is to be copied is in sync", func() bool {
		s := w.controller.Summary()
		return s.Wanted == 1 && s.Synced == 1
	})
	stopped := fmt.Errorf("stopped")
	w.closed.Store(&stopped)
	w.target(marker, "", label("helloworld.open-cluster-management.io/uninstall", "uid-1"))
	w.eventually("answered", func() bool {
		return w.get(marker).Annotations["helloworld.open-cluster-management.io/stopped"] == "uid-1"
	})
	w.managed.Requests()
	w.target(marker, "", label("helloworld.open-cluster-management.io/uninstall", "uid-2"))
	w.eventually("answered anew", func() bool {
		return w.get(marker).Annotations["helloworld.open-cluster-management.io/stopped"] == "uid-2"
	})
}

// TestConflictForGood: the answer of an admission plugin that rejects every write with
// 409 is reported as it is, and the writes are few.
func TestConflictForGood(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refusal := answer(http.StatusConflict, reason)
			refusal.ErrStatus.Message = `admission webhook "policy.example.com" denied the request`
			w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if r.Verb == "create" {
					return refusal
				}
				return nil
			}
			w.source("a", "1")
			w.start()
			w.eventually("named", func() bool { return len(w.failed()) == 1 })
			want := "create ConfigMap a: " + refusal.ErrStatus.Message
			if f := w.failed()[0]; f.Kind != plan.Create || f.Reason != want {
				t.Errorf("reported %v, want %q", f, want)
			}
			if s := w.controller.Summary(); len(s.Failed) != 1 || s.Pending != 0 {
				t.Errorf("summary %+v", s)
			}
			if got := len(writes(w.managed.Requests())); got > 8 {
				t.Errorf("%d writes until it was named", got)
			}
		})
	}
}
