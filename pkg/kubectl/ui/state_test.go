package ui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
)

var noon = metav1.NewTime(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))

// fleetOf returns a state with the rows.
func fleetOf(labels map[string]map[string]string, rows ...report.Row) state {
	return state{Fleet: status.Fleet{
		Report: &report.Report{Time: noon, Clusters: rows, Totals: report.Totals{Clusters: len(rows)}},
		Labels: labels,
	}}
}

func TestUpdateOf(t *testing.T) {
	synced, waiting := report.Row{Name: "a", State: report.Synced, Well: true}, report.Row{Name: "a", State: report.Waiting}
	other := report.Row{Name: "b", State: report.Synced, Well: true}
	eu := map[string]map[string]string{"a": {"region": "eu"}}
	us := map[string]map[string]string{"a": {"region": "us"}}
	none := map[string]map[string]string{}
	with := func(s state, change func(*state)) state {
		change(&s)
		return s
	}
	rollout := Rollout{Kind: replicaSetRollout, Name: "default/settings", State: plan.Waiting}
	groups := []PlacementGroups{{Placement: "default/all", Groups: map[string]string{"a": "canary"}}}
	refused := []report.NotRead{{Resource: "manifestworks", Error: "forbidden"}}
	for _, test := range []struct {
		name        string
		before, now state
		want        *Update
	}{
		{name: "nothing was read yet", now: state{}, want: nil},
		{name: "rollouts were read, the clusters not yet", now: state{Rollouts: []Rollout{rollout}}, want: nil},
		{name: "a page that knows nothing gets everything", now: fleetOf(eu, synced, other),
			want: &Update{Whole: true, Clusters: []report.Row{synced, other}, Totals: report.Totals{Clusters: 2}, Labels: eu, Rollouts: &Rollouts{}, Groups: []PlacementGroups{}}},
		{name: "nothing changed", before: fleetOf(eu, synced), now: fleetOf(eu, synced), want: nil},
		{name: "only the time went on", before: fleetOf(eu, synced),
			now: with(fleetOf(eu, synced), func(s *state) { s.Time = metav1.NewTime(noon.Add(time.Minute)) }), want: nil},
		{name: "one cluster of two changed", before: fleetOf(none, synced, other), now: fleetOf(none, waiting, other),
			want: &Update{Clusters: []report.Row{waiting}, Totals: report.Totals{Clusters: 2}, Labels: none}},
		{name: "a cluster is gone", before: fleetOf(eu, synced, other), now: fleetOf(none, other),
			want: &Update{Gone: []string{"a"}, Totals: report.Totals{Clusters: 1}, Labels: none}},
		{name: "a cluster is new", before: fleetOf(none, other), now: fleetOf(eu, synced, other),
			want: &Update{Clusters: []report.Row{synced}, Totals: report.Totals{Clusters: 2}, Labels: eu}},
		{name: "only labels changed", before: fleetOf(eu, synced), now: fleetOf(us, synced),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: us}},
		{name: "a cluster lost its last label", before: fleetOf(eu, synced), now: fleetOf(map[string]map[string]string{"a": nil}, synced),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: map[string]map[string]string{"a": nil}}},
		{name: "the ManagedCluster was deleted, and the add-on is left over", before: fleetOf(eu, synced), now: fleetOf(none, synced),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: map[string]map[string]string{"a": nil}}},
		{name: "a resource can no longer be read", before: fleetOf(none, synced),
			now:  with(fleetOf(none, synced), func(s *state) { s.NotRead = refused }),
			want: &Update{Totals: report.Totals{Clusters: 1}, NotRead: refused, Labels: none}},
		{name: "a resource can be read again", before: with(fleetOf(none, synced), func(s *state) { s.NotRead = refused }), now: fleetOf(none, synced),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none}},
		{name: "a rollout began", before: fleetOf(none, synced), now: with(fleetOf(none, synced), func(s *state) { s.Rollouts = []Rollout{rollout} }),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none, Rollouts: &Rollouts{All: []Rollout{rollout}}}},
		{name: "a group changed", before: fleetOf(none, synced), now: with(fleetOf(none, synced), func(s *state) { s.Groups = groups }),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none, Groups: groups}},
		{name: "no group is left", before: with(fleetOf(none, synced), func(s *state) { s.Groups = groups }), now: fleetOf(none, synced),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none, Groups: []PlacementGroups{}}},
		{name: "a rollout goes on, and its groups are the same", before: with(fleetOf(none, synced), func(s *state) { s.Groups = groups }),
			now:  with(fleetOf(none, synced), func(s *state) { s.Groups, s.Rollouts = groups, []Rollout{rollout} }),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none, Rollouts: &Rollouts{All: []Rollout{rollout}}}},
		{name: "rollouts cannot be read", before: fleetOf(none, synced),
			now:  with(fleetOf(none, synced), func(s *state) { s.RolloutsError = "forbidden" }),
			want: &Update{Totals: report.Totals{Clusters: 1}, Labels: none, Rollouts: &Rollouts{Error: "forbidden"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want != nil {
				test.want.Time = noon
			}
			if diff := cmp.Diff(test.want, updateOf(test.before, test.now)); diff != "" {
				t.Errorf("update (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpdateText: a page tells by the text whether there are groups, or none that changed.
func TestUpdateText(t *testing.T) {
	for _, test := range []struct {
		update Update
		want   bool
	}{{Update{}, false}, {Update{Groups: []PlacementGroups{}}, true}} {
		text, err := json.Marshal(test.update)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), `"groups":[]`); got != test.want {
			t.Errorf("%s", text)
		}
	}
}

// TestBoard: a page that is slow misses nothing, since it reads the last state, and one that was closed is forgotten.
func TestBoard(t *testing.T) {
	var b board
	changed, closePage := b.open()
	<-changed // what was there before it was opened
	for range 3 {
		b.change(func(s *state) { s.Rollouts = append(s.Rollouts, Rollout{}) })
	}
	<-changed
	if got := len(b.get().Rollouts); got != 3 {
		t.Errorf("the page sees %d changes, want 3", got)
	}
	select {
	case <-changed:
		t.Error("the page is woken again, without a change")
	default:
	}
	closePage()
	b.change(func(*state) {})
	select {
	case <-changed:
		t.Error("a closed page is woken")
	default:
	}
}
