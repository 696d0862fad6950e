package memapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestWatchBehind has a watch whose client reads nothing. It must end, or it would keep
// all later events in memory.
func TestWatchBehind(t *testing.T) {
	a := NewServer(Options{}).Add(t.Context(), "fleet-0001")
	a.mu.Lock()
	w := a.watch(builtins[configMaps], selector{}, &metav1.ListOptions{ResourceVersion: "0"})
	defer w.stop()
	events := a.table(configMaps.GroupResource())
	for n, e := range events.objects {
		for range watchBehind + 1 {
			a.record(builtins[configMaps], &event{what: watch.Modified, name: n, now: e, before: e})
		}
		break
	}
	a.mu.Unlock()
	for _, want := range []string{"ADDED", "ERROR", ""} {
		lines, err := w.next(t.Context())
		if want == "" {
			if err == nil {
				t.Errorf("after the error: %s, want the end", lines)
			}
			continue
		}
		if err != nil || string(lines[:len(`{"type":"`)+len(want)]) != `{"type":"`+want {
			t.Errorf("events: %.80s, %v, want %s", lines, err, want)
		}
	}
}

func TestStreamBehind(t *testing.T) {
	f := newFeed()
	f.lines.Write(make([]byte, streamBehind+1))
	if _, err := f.take(); err == nil {
		t.Error("a stream whose client reads nothing goes on")
	}
}
