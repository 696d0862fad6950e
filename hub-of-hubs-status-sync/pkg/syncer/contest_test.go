package syncer

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"
)

// TestContestNamesWriter: the first time that a write is undone repeatedly, one line in the log and one event name the
// other writer.
func TestContestNamesWriter(t *testing.T) {
	r := newOneRule(t)
	recorder := events.NewFakeRecorder(1000)
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	r.recorder = recorder
	ctx := klog.NewContext(t.Context(), logger)
	r.queue.request(r.key, r.clock.Now())
	r.work()
	r.hub.object.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl-edit", Time: ptr.To(metav1.Unix(9, 0))},
		{Manager: "older", Subresource: "status", Time: ptr.To(metav1.Unix(1, 0))},
		{Manager: "governance", Subresource: "status", Time: ptr.To(metav1.Unix(2, 0))},
	})
	for range 6 {
		r.hub.write(map[string]any{"decisions": []any{}})
		r.passes(time.Minute)
		key, _ := r.queue.Get()
		r.process(ctx, key)
		r.queue.Done(key)
	}
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(logged, "Another writer keeps changing the status") != 1 || !strings.Contains(logged, `managers=["governance","older"]`) {
		t.Errorf("the log does not name the writers once:\n%s", logged)
	}
	const want = "Warning StatusContested governance, older changes the status that hub-of-hubs-status-sync writes, which then waits up to 30s before it writes again"
	if len(recorder.Events) != 1 {
		t.Fatalf("%d events, want one", len(recorder.Events))
	}
	if got := <-recorder.Events; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}
