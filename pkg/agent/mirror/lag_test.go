package mirror

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestLagIsNoContest: a write that fails because the cache does not show the
// agent's own write yet is no sign of another writer.
func TestLagIsNoContest(t *testing.T) {
	type step struct {
		kind Kind
		// version is what the cache shows, empty for no object.
		version string
		err     error
	}
	behind := &staleError{action: "update ConfigMap a", cause: errors.New("not today")}
	tests := []struct {
		name, reason string
		steps        []step
		// repairs is how often another writer is taken to have changed the copy.
		repairs int
	}{
		{"update", "the cache shows the version that was updated", []step{{Update, "1", nil}, {Update, "1", behind}}, 0},
		{"create", "the cache shows no object", []step{{Create, "", nil}, {Create, "", behind}}, 0},
		{"replace", "the cache shows the object that was replaced", []step{{Replace, "1", nil}, {Replace, "1", behind}}, 0},
		{"replace, deletion seen", "the cache shows no object", []step{{Replace, "1", nil}, {Replace, "1", behind}, {Create, "", behind}}, 0},
		{"another writer", "the cache shows another version", []step{{Update, "1", nil}, {Update, "2", behind}}, 1},
		{"deleted by another writer", "the cache shows no object", []step{{Update, "1", nil}, {Create, "", behind}}, 1},
		{"another writer, after the agent's write was seen", "the cache is behind the other writer",
			[]step{{Update, "1", nil}, {InSync, "2", nil}, {Update, "2", behind}}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Config{Scope: scope, Clock: clocktesting.NewFakeClock(start)})
			t.Cleanup(c.queue.ShutDown)
			source := &Source{Digest: Digest{1}}
			for i, s := range test.steps {
				var target *Copy
				if s.version != "" {
					target = &Copy{}
					target.ResourceVersion = s.version
				}
				// Only the first step follows a change on the hub.
				if err := c.settle(Action{Kind: s.kind, Name: "a"}, source, target, i == 0, s.err); !errors.Is(err, s.err) {
					t.Errorf("step %d: got %v", i, err)
				}
			}
			if diff := cmp.Diff(test.repairs, c.contests["a"].repairs); diff != "" {
				t.Errorf("%s: repairs (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
