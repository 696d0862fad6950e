package mirror

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// TestCopyLife: the writes of one copy from its source's creation to its deletion
// (docs/design.md#rule-2-copy).
func TestCopyLife(t *testing.T) {
	w := newWorld(t)
	w.source("a", "1")
	w.source("kube-root-ca.crt", "hub")
	w.target("kube-root-ca.crt", "managed")
	w.start()
	// Wait for the cache: a write planned on a stale one would fail and be repeated.
	seen := func() {
		t.Helper()
		w.eventually("the mirror sees its own write", func() bool { return w.controller.Summary().Synced == 1 })
	}
	w.eventuallyValue("a", "1")
	seen()
	w.source("a", "2")
	w.eventuallyValue("a", "2")
	seen()
	w.target("a", "drift", owned)
	w.eventuallyValue("a", "2")
	seen()
	w.managed.Remove("configmaps", "copies", "a")
	w.eventuallyValue("a", "2")
	seen()
	w.hub.Remove("configmaps", "cluster1", "a")
	w.eventuallyValue("a", "-")
	want := []string{"create configmaps copies", "update configmaps copies/a", "update configmaps copies/a",
		"create configmaps copies", "delete configmaps copies/a"}
	got := writes(w.managed.Requests())
	for i := range got {
		got[i] = strings.TrimSuffix(got[i], "/")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if w.value("kube-root-ca.crt") != "managed" || len(writes(w.hub.Requests())) > 0 {
		t.Error("wrote what must not be written")
	}
}

// TestRestartCatchesUpThenIsSilent: docs/design.md#rule-5-prune and
// docs/design.md#rule-7-silence.
func TestRestartCatchesUpThenIsSilent(t *testing.T) {
	w := newWorld(t)
	w.source("kept", "1")
	w.source("changed", "1")
	w.source("gone", "1")
	stop := w.start()
	w.eventually("three copies", func() bool { return w.value("kept")+w.value("changed")+w.value("gone") == "111" })
	stop()
	w.source("changed", "2")
	w.hub.Remove("configmaps", "cluster1", "gone")
	w.managed.Requests()
	stop = w.start()
	w.eventually("caught up", func() bool { return w.value("changed")+w.value("gone") == "2-" })
	w.settled("marker")
	if got := writes(w.managed.Requests()); len(got) != 3 {
		t.Errorf("writes: got %v, want an update, a delete and the marker's create", got)
	}
	stop()
	w.start()
	w.settled("second-marker")
	if got := writes(w.managed.Requests()); len(got) != 1 {
		t.Errorf("writes in sync: got %v, want the marker's create only", got)
	}
}

// TestConflictHeals: docs/design.md#rule-3-ownership.
func TestConflictHeals(t *testing.T) {
	w := newWorld(t)
	w.target("deleted", "theirs")
	w.target("adopted", "theirs")
	w.source("deleted", "ours")
	w.source("adopted", "ours")
	w.start()
	w.eventually("two conflicts", func() bool { return len(w.controller.Summary().Conflicts) == 2 })
	if w.value("deleted") != "theirs" || w.value("adopted") != "theirs" {
		t.Fatal("wrote what is not ours")
	}
	w.managed.Remove("configmaps", "copies", "deleted")
	w.target("adopted", "theirs", adopt, label("team", "blue"))
	w.eventuallyValue("deleted", "ours")
	w.eventuallyValue("adopted", "ours")
	w.eventually("no conflict", func() bool { return len(w.controller.Summary().Conflicts) == 0 })
	if w.get("adopted").Labels["team"] != "blue" {
		t.Error("a label of others is gone")
	}
}

func TestImmutableAndFinalizers(t *testing.T) {
	w := newWorld(t)
	w.source("fixed", "1", immutable)
	w.start()
	w.eventuallyValue("fixed", "1")
	w.hub.Remove("configmaps", "cluster1", "fixed")
	w.source("fixed", "2", immutable)
	w.eventuallyValue("fixed", "2")

	w.source("held", "1")
	w.eventuallyValue("held", "1")
	w.target("held", "1", owned, func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/hold"} })
	w.managed.Remove("configmaps", "copies", "held")
	w.eventually("held is reported", func() bool { return len(w.failed()) == 1 })
	w.target("held", "1", owned)
	w.managed.Remove("configmaps", "copies", "held")
	w.eventually("held is there again", func() bool { cm := w.get("held"); return cm != nil && cm.DeletionTimestamp == nil })
}

// TestNothingIsPrunedWhileTheHubCannotBeRead: docs/design.md#rule-5-prune.
func TestNothingIsPrunedWhileTheHubCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.source("a", "1")
	stop := w.start()
	w.eventuallyValue("a", "1")
	stop()
	var closed atomic.Bool
	closed.Store(true)
	w.hub.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if closed.Load() {
			return apierrors.NewForbidden(schema.GroupResource{Resource: r.Resource}, "", nil)
		}
		return nil
	}
	w.managed.Requests()
	w.hub.Requests()
	before := w.get("a").UID
	w.start()
	w.eventually("not ready", func() bool {
		err := w.controller.Ready()
		return err != nil && strings.Contains(err.Error(), "forbidden")
	})
	lists := 0
	w.eventually("the hub was asked again, and the install namespace was read long ago", func() bool {
		for _, r := range w.hub.Requests() {
			if r.Verb == "list" {
				lists++
			}
		}
		return lists >= 2
	})
	if got := writes(w.managed.Requests()); len(got) > 0 || w.value("a") != "1" {
		t.Errorf("wrote %v without having read the hub", got)
	}
	w.source("b", "1")
	closed.Store(false)
	w.eventuallyValue("b", "1")
	if w.value("a") != "1" || w.get("a").UID != before {
		t.Error("the copy was deleted in between")
	}
	w.hub.Remove("configmaps", "cluster1", "a")
	w.eventuallyValue("a", "-")
	w.eventually("ready", func() bool { return w.controller.Ready() == nil })
}

// TestLostWatchKeepsCopies: docs/design.md#rule-5-prune.
func TestLostWatchKeepsCopies(t *testing.T) {
	w := newWorld(t)
	var down atomic.Bool
	w.hub.Before = func(fakeapi.Request) *apierrors.StatusError {
		if down.Load() {
			return apierrors.NewServiceUnavailable("down")
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
	w.eventually("not ready", func() bool { return w.controller.Ready() != nil })
	if w.value("a")+w.value("b") != "11" {
		t.Error("a copy went with the connection")
	}
	down.Store(false)
	w.eventuallyValue("b", "-")
	if w.value("a") != "1" {
		t.Error("the other copy is gone")
	}
}

func TestRefusedWritesAreRetriedAndReported(t *testing.T) {
	w := newWorld(t)
	var refuse atomic.Bool
	refuse.Store(true)
	w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "create" && refuse.Load() {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
				Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "the namespace is being terminated",
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
		}
		return nil
	}
	w.source("a", "1")
	w.start()
	w.eventually("reported", func() bool { return len(w.failed()) == 1 })
	if f := w.failed()[0]; f.Kind != plan.Create || !strings.Contains(f.Reason, "terminated") {
		t.Errorf("failure %v", f)
	}
	refuse.Store(false)
	w.eventuallyValue("a", "1")
	w.eventually("cleared", func() bool { return len(w.failed()) == 0 })
}

// TestReplaceKeepsWhatOthersAdded: labels of others stay (docs/design.md#rule-4-drift),
// also when the API server refuses to create the copy that was deleted.
func TestReplaceKeepsWhatOthersAdded(t *testing.T) {
	w := newWorld(t)
	w.target("fixed", "1", owned, immutable, label("team", "blue"))
	w.source("fixed", "2", immutable)
	var refused atomic.Int32
	w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "create" && refused.Add(1) <= 3 {
			return apierrors.NewInternalError(errors.New("no"))
		}
		return nil
	}
	w.start()
	w.eventuallyValue("fixed", "2")
	if refused.Load() < 4 {
		t.Fatalf("%d creates, want the first three refused", refused.Load())
	}
	if diff := cmp.Diff("blue", w.get("fixed").Labels["team"]); diff != "" {
		t.Errorf("the label of others (-want +got):\n%s", diff)
	}
}
