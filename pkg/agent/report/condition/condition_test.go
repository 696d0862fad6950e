package condition

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOf: see docs/design.md#rule-9-reported.
func TestOf(t *testing.T) {
	many := []string{}
	for i := range 5000 {
		many = append(many, fmt.Sprintf("n%04d", 4999-i))
	}
	long := strings.Repeat("ä", 3000)
	tests := []struct {
		name  string
		state State
		want  string
	}{
		{"not listed yet", State{}, "Unknown/Waiting: the ConfigMaps are not listed yet"},
		{"nothing to copy", State{Listed: true}, "True/Synced: 0 of 0 ConfigMaps synced"},
		{"all synced", State{Listed: true, Wanted: 12, Synced: 12}, "True/Synced: 12 of 12 ConfigMaps synced"},
		{"a conflict", State{Listed: true, Wanted: 12, Synced: 11, Conflicts: []string{"settings"}},
			"False/Conflict: 11 of 12 ConfigMaps synced; conflict: settings"},
		{"conflicts are sorted", State{Listed: true, Wanted: 2, Conflicts: []string{"b", "a"}},
			"False/Conflict: 0 of 2 ConfigMaps synced; conflict: a, b"},
		{"copies are missing", State{Listed: true, Wanted: 12, Synced: 3}, "False/Syncing: 3 of 12 ConfigMaps synced"},
		{"a failure weighs more than a conflict", State{Listed: true, Wanted: 3, Synced: 1, Conflicts: []string{"c"}, Failed: []string{"f"}, FailedReason: "forbidden"},
			"False/Failed: 1 of 3 ConfigMaps synced; conflict: c; failed: f: forbidden"},
		{"a copy that cannot be removed", State{Listed: true, Wanted: 1, Synced: 1, Failed: []string{"gone"}, FailedReason: "forbidden"},
			"False/Failed: 1 of 1 ConfigMaps synced; failed: gone: forbidden"},
		{"too many names", State{Listed: true, Wanted: 5000, Failed: many, FailedReason: "forbidden"},
			"False/Failed: 0 of 5000 ConfigMaps synced; failed: n0000, n0001, n0002, n0003, n0004, n0005, n0006, n0007, n0008, n0009 and 4990 more: forbidden"},
		{"another writer", State{Listed: true, Wanted: 3, Synced: 2, Contested: []string{"c"}, ContestedReason: "another writer keeps changing c"},
			"False/Contested: 2 of 3 ConfigMaps synced; contested: c: another writer keeps changing c"},
		{"a conflict weighs more than a contest", State{Listed: true, Wanted: 3, Synced: 1, Conflicts: []string{"a"}, Contested: []string{"c"}, ContestedReason: "r"},
			"False/Conflict: 1 of 3 ConfigMaps synced; conflict: a; contested: c: r"},
		{"deletions are held", State{Listed: true, Wanted: 2, Synced: 2, Cluster: "cluster1", Held: []string{"b", "a", "d", "c"},
			HeldUntil: time.Date(2026, 1, 1, 12, 10, 0, 0, time.FixedZone("", 3600))},
			"False/DeletionHeld: 2 of 2 ConfigMaps synced; deletion of 4 copies held until 2026-01-01T11:10:00Z, because a list of the hub's ConfigMaps " +
				"lacks their sources (to delete them now: kubectl annotate managedclusteraddon helloworld -n cluster1 " +
				"helloworld.open-cluster-management.io/release-deletions=true): a, b, c, d"},
		{"held deletions weigh most, because they have a deadline", State{Listed: true, Cluster: "cluster1", Held: []string{"a"}, Failed: []string{"f"}, FailedReason: "forbidden"},
			"False/DeletionHeld: 0 of 0 ConfigMaps synced; deletion of 1 copies held until 0001-01-01T00:00:00Z, because a list of the hub's ConfigMaps " +
				"lacks their sources (to delete them now: kubectl annotate managedclusteraddon helloworld -n cluster1 " +
				"helloworld.open-cluster-management.io/release-deletions=true): a; failed: f: forbidden"},
		{"a side cannot be read", State{Listed: true, Wanted: 1, Synced: 1, Trouble: "read ConfigMaps on the hub: forbidden"},
			"False/Failed: read ConfigMaps on the hub: forbidden"},
		{"being deleted, in any other state", State{Uninstalling: true, Listed: true, Trouble: "x"},
			"False/Uninstalling: the add-on is being deleted: nothing is copied any more, and its pre-delete hook removes the copies"},
		{"a long reason", State{Trouble: long}, "False/Failed: " + long[:MaxMessage-4] + " …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Of(test.state)
			if got := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if len(c.Message) > MaxMessage || !utf8.ValidString(c.Message) {
				t.Errorf("%d bytes, valid %t", len(c.Message), utf8.ValidString(c.Message))
			}
		})
	}
}

func TestCompare(t *testing.T) {
	synced := Of(State{Listed: true, Wanted: 1, Synced: 1})
	more := Of(State{Listed: true, Wanted: 2, Synced: 2})
	conflict := Of(State{Listed: true, Wanted: 1, Conflicts: []string{"a"}})
	removing := Uninstalling("removing the copies: 1 of 3 left: a")
	removed := Uninstalled()
	tests := []struct {
		name    string
		present *metav1.Condition
		wanted  metav1.Condition
		want    Difference
	}{
		{"none yet", nil, synced, Other},
		{"equal", &synced, synced, Same},
		{"another count", &synced, more, OtherMessage},
		{"another status", &synced, conflict, Other},
		{"the hook's message is not overwritten by the agent's", &removing, Of(State{Uninstalling: true}), Same},
		{"the end of the uninstall is not overwritten by the agent", &removed, Of(State{Uninstalling: true}), Same},
		{"the hook is at the end", &removing, removed, Other},
		{"enabled again", &removing, synced, Other},
		{"enabled again after the end", &removed, synced, Other},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Compare(test.present, test.wanted); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestWarning: a warning is appended to the message, except during the uninstall: the
// message then belongs to the hook.
func TestWarning(t *testing.T) {
	state := State{Listed: true, Wanted: 1, Synced: 1, Warning: "secret s cannot be used"}
	if got := Of(state).Message; got != "1 of 1 ConfigMaps synced; secret s cannot be used" {
		t.Errorf("got %q", got)
	}
	state.Warning = strings.Repeat("x", 2*MaxMessage)
	if got := len(Of(state).Message); got > MaxMessage {
		t.Errorf("a message of %d bytes", got)
	}
	state.Uninstalling = true
	if got := Of(state).Message; strings.Contains(got, "x") && strings.Contains(got, "; ") {
		t.Errorf("got %q", got)
	}
}
