package memapi

import (
	"context"
	"errors"
	"io"
	"strings"
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
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	for _, want := range []string{"ADDED", "ERROR", ""} {
		lines, err := w.next(ctx)
		if want == "" {
			if !errors.Is(err, io.EOF) {
				t.Errorf("after the error: %s, %v, want the end", lines, err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(string(lines), `{"type":"`+want) {
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
