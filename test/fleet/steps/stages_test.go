package steps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/fleet/board"
)

func TestPartOf(t *testing.T) {
	for n, want := range map[int]int{1: 1, 5: 3, 20: 10, 100: 50, 200: 100, 1000: 100} {
		if got := partOf(n); got != want {
			t.Errorf("of %d clusters %d are the part, want %d", n, got, want)
		}
	}
}

func TestStepsOf(t *testing.T) {
	for _, c := range []struct {
		n    int
		why  string
		want string
	}{
		{100, "stages of 20, 30 and 50, the first two in halves", "first-a:10 first-b:10 second-a:15 second-b:15 third:50"},
		{10, "an odd stage's first half is the larger one", "first-a:1 first-b:1 second-a:2 second-b:1 third:5"},
		{3, "a group without clusters stops a rollout, so there is none", "first-a:1 second-a:1 third:1"},
		{1, "one cluster is a stage", "first-a:1"},
	} {
		var clusters, all, sizes []string
		for i := range c.n {
			clusters = append(clusters, fmt.Sprint(i))
		}
		for _, s := range stepsOf(clusters) {
			sizes = append(sizes, fmt.Sprintf("%s:%d", s.name, len(s.clusters)))
			all = append(all, s.clusters...)
		}
		if got := strings.Join(sizes, " "); got != c.want {
			t.Errorf("%d clusters (%s): got %s, want %s", c.n, c.why, got, c.want)
		}
		if diff := cmp.Diff(clusters, all); diff != "" {
			t.Errorf("%d clusters: each is in one step (-want +got):\n%s", c.n, diff)
		}
	}
}

// TestStrategyFor: the last stage is in no mandatory group, because maxConcurrency is for such clusters alone.
func TestStrategyFor(t *testing.T) {
	got := strategyFor([]step{{"first-a", nil}, {"second-a", nil}, {lastStep, nil}})
	if !strings.Contains(got, `"mandatoryDecisionGroups":[{"groupName":"first-a"},{"groupName":"second-a"}]`) || !strings.Contains(got, `"maxConcurrency":"50%"`) {
		t.Errorf("got %s", got)
	}
	if _, err := decode(got); err != nil {
		t.Error(err)
	}
}

func TestOvertakes(t *testing.T) {
	start := time.Unix(1000, 0)
	steps := []step{{"first-a", []string{"a", "b"}}, {"second-a", []string{"c"}}, {lastStep, []string{"d"}}}
	for _, c := range []struct {
		name, why string
		after     map[string]int // seconds
		want      int
	}{
		{"in order", "a step may end when the next one begins", map[string]int{"a": 2, "b": 1, "c": 2, "d": 3}, 0},
		{"all at once", "no step waited", map[string]int{"a": 3, "b": 3, "c": 2, "d": 1}, 2},
		{"one cluster is early", "its step did not wait for the last cluster before", map[string]int{"a": 1, "b": 5, "c": 4, "d": 6}, 1},
		{"two steps later", "the end of every step before counts", map[string]int{"a": 1, "b": 5, "c": 4, "d": 4}, 2},
	} {
		done := map[string]time.Time{}
		for cluster, after := range c.after {
			done[cluster] = start.Add(time.Duration(after) * time.Second)
		}
		if got := overtakes(steps, done); got != c.want {
			t.Errorf("%s (%s): got %d, want %d", c.name, c.why, got, c.want)
		}
	}
}

func TestSeenMirror(t *testing.T) {
	f := &Fleet{board: board.New()}
	f.seenMirror(object(t, `{"metadata":{"name":"helloworld","namespace":"a"}}`))
	f.seenMirror(object(t, `{"metadata":{"name":"helloworld","namespace":"b"},"status":{"configMaps":[
		{"name":"x","revision":"1","state":"Pending"},{"name":"y","revision":"2","state":"Synced"},{"name":"z","state":"Synced"}]}}`))
	for event, want := range map[string][]string{
		mirrored: {"a", "b"}, reportedSynced("y", "2"): {"b"}, reportedSynced("x", "1"): nil, reportedSynced("z", ""): nil,
	} {
		if diff := cmp.Diff(want, sorted(f.board.Times(event))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
}

func TestSourceOf(t *testing.T) {
	size := 0
	for key, value := range sourceOf("a", "mark1").Data {
		size += len(key) + len(value)
	}
	if size != 1024 {
		t.Errorf("a source has %d bytes", size)
	}
}
