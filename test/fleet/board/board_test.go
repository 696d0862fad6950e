package board

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBoard(t *testing.T) {
	b, start := New(), time.Unix(1000, 0)
	clusters := []string{"a", "b"}
	b.Mark("copied", "a", start.Add(time.Second))
	b.Mark("copied", "a", start.Add(time.Minute)) // only the first time counts
	b.Mark("copied", "other", start.Add(time.Hour))
	b.Mark("shipped", "b", start)
	if got := b.Samples("copied", start, clusters); !slices.Equal(got, []time.Duration{time.Second}) {
		t.Errorf("samples: %v", got)
	}
	if last, seen := b.Last("copied", clusters); seen != 1 || !last.Equal(start.Add(time.Second)) {
		t.Errorf("last: %v of %d", last, seen)
	}
	err := b.Await(t.Context(), "copied", clusters, 20*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "1 clusters are missing") || !strings.Contains(err.Error(), "are b") {
		t.Errorf("b has no copy: %v", err)
	}
	done := make(chan error)
	go func() { done <- b.Await(t.Context(), "copied", clusters, time.Minute) }()
	b.Mark("copied", "b", start)
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.Forget("copied")
	if _, seen := b.Last("copied", clusters); seen != 0 {
		t.Errorf("%d clusters have an event that was forgotten", seen)
	}
}
