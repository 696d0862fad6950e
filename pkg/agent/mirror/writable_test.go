package mirror

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestStuck: writes are told one by one, as the controller does, each a second
// after the one before; then it is asked.
func TestStuck(t *testing.T) {
	group := schema.GroupResource{Resource: "configmaps"}
	invalid := fmt.Errorf("create ConfigMap big: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "big", nil))
	forbidden := fmt.Errorf("create ConfigMap: %w", apierrors.NewForbidden(group, "a", errors.New("exceeded quota")))
	down := errors.New("create ConfigMap: connection refused")
	type write struct {
		name string
		err  error
	}
	const long, short = 2 * time.Minute, 30 * time.Second
	tests := []struct {
		name, reason string
		writes       []write
		passed       time.Duration
		want         string
	}{
		{"nothing was written", "a cluster without a change is in sync", nil, long, ""},
		{"all is well", "", []write{{"a", nil}, {"b", nil}}, long, ""},
		{"one is rejected for its content", "it must not sink the add-on", []write{{"big", invalid}}, long, ""},
		{"several are rejected for their content", "nor must more of them", []write{{"big", invalid}, {"bigger", invalid}}, long, ""},
		{"one is refused", "it may be about this one only", []write{{"a", forbidden}}, long, ""},
		{"one is refused and another rejected", "the same", []write{{"a", forbidden}, {"big", invalid}}, long, ""},
		{"all that were tried are refused", "a right is missing, or the quota is used up",
			[]write{{"a", forbidden}, {"b", forbidden}}, long, "quota"},
		{"refused for a short time only", "it may pass", []write{{"a", forbidden}, {"b", forbidden}}, short, ""},
		{"the API server does not work", "one is enough to know", []write{{"a", down}}, long, "connection refused"},
		{"the API server does not work for a short time", "it restarts", []write{{"a", down}}, short, ""},
		{"a write works again", "what still fails is about single ones", []write{{"a", down}, {"b", down}, {"c", nil}}, long, ""},
		{"all work again", "", []write{{"a", down}, {"a", nil}}, long, ""},
		{"fails again after it worked", "counted from the later failure",
			[]write{{"a", down}, {"b", nil}, {"a", down}}, long, "connection refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			var tr trend
			failed := failures{}
			for _, w := range test.writes {
				failed.record(Action{Kind: Create, Name: w.name}, w.err)
				tr = tr.after(w.err == nil, failed, now)
				now = now.Add(time.Second)
			}
			err := stuck(tr, failed, now.Add(test.passed))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, test.reason)
			}
		})
	}
}

// TestStuckForgets: a failure of long ago, whose ConfigMap is gone, says
// nothing about a failure of now.
func TestStuckForgets(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	down := errors.New("connection refused")
	failed := failures{}
	failed.record(Action{Kind: Create, Name: "a"}, down)
	tr := trend{}.after(false, failed, now)
	failed.record(Action{Kind: InSync, Name: "a"}, nil)
	tr = tr.after(false, failed, now)
	now = now.Add(24 * time.Hour)
	failed.record(Action{Kind: Create, Name: "b"}, down)
	tr = tr.after(false, failed, now)
	if err := stuck(tr, failed, now.Add(time.Second)); err != nil {
		t.Errorf("stuck one second after the first failure: %v", err)
	}
}

// TestControllerIsStuck: what the controller is told of its writes reaches the
// health check, and is over with the first write that works.
func TestControllerIsStuck(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	c := New(Config{Scope: scope, Clock: clock, Observer: &watcher{}})
	logger := klog.Background()
	create := Action{Kind: Create, Name: "a"}
	c.record(logger, create, nil, errors.New("create ConfigMap a: connection refused"))
	if err := c.Stuck(); err != nil {
		t.Errorf("at once: %v", err)
	}
	clock.Step(2 * stuckAfter)
	c.record(logger, create, nil, fmt.Errorf("create ConfigMap a: %w", errStale))
	if err := c.Stuck(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("after %s: %v", 2*stuckAfter, err)
	}
	c.record(logger, create, nil, nil)
	if err := c.Stuck(); err != nil {
		t.Errorf("after a write that worked: %v", err)
	}
}
