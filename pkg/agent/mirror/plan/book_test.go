package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
)

func TestExceeds(t *testing.T) {
	tests := []struct {
		name, reason    string
		missing, copies int
		want            bool
	}{
		{"nothing", "there is nothing to hold", 0, 0, false},
		{"all of three", "a person may have deleted so few", 3, 3, false},
		{"all of four", "the hub may have lost them", 4, 4, true},
		{"half", "as many are there as are missing", 50, 100, false},
		{"more than half", "the hub may have lost them", 51, 100, true},
		{"100 of 5,000", "a clean-up while the agent was away", 100, 5000, false},
		{"all of 5,000", "the hub was restored without ConfigMaps", 5000, 5000, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := exceeds(test.missing, test.copies); got != test.want {
				t.Errorf("%s: got %t", test.reason, got)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	copies := []*Copy{onManaged(configMap("a", one, owned)), onManaged(configMap("b", one, owned)), onManaged(configMap("foreign", one)),
		onManaged(configMap("going", one, owned, terminating)), onManaged(configMap("kube-root-ca.crt", one, owned))}
	names, count := Missing(copies, func(name string) *Source {
		if name == "b" {
			return &Source{}
		}
		return nil
	})
	if diff := cmp.Diff([]string{"a"}, names); diff != "" || count != 2 {
		t.Errorf("%d owned copies; missing (-want +got):\n%s", count, diff)
	}
}

// TestLagIsNoContest: a write that fails because the cache does not show the agent's
// own write yet is no sign of another writer.
func TestLagIsNoContest(t *testing.T) {
	type step struct {
		kind Kind
		// version is what the cache shows, empty for no object.
		version string
		err     error
	}
	behind := stale()
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
			book := NewBook(scope, 0)
			source := onHub(configMap("a", one))
			// Only the first step follows a change on the hub.
			book.Changed("a", start)
			for i, s := range test.steps {
				var target *Copy
				if s.version != "" {
					target = &Copy{ResourceVersion: s.version}
				}
				turn := book.Begin(Action{Kind: s.kind, Name: "a", Object: scope.desired(source, nil)}, source, target, Situation{Now: start})
				if out := book.End(turn, s.err, start); !errors.Is(out.Err, s.err) {
					t.Errorf("step %d: got %v", i, out.Err)
				}
			}
			repairs := 0
			if c := book.open("a").contest; c != nil {
				repairs = c.repairs
			}
			if diff := cmp.Diff(test.repairs, repairs); diff != "" {
				t.Errorf("%s: repairs (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// write is a write as the book sees it.
func (b *Book) write(kind Kind, name string, err error, now time.Time) Outcome {
	source := onHub(configMap(name, one))
	return b.End(b.Begin(Action{Kind: kind, Name: name, Object: scope.desired(source, nil)}, source, nil, Situation{Now: now}), err, now)
}

// TestStuck makes writes, each a second after the one before, and then looks at the
// health check.
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
		{"a stale write after a failure", "it tells nothing about the API server",
			[]write{{"a", down}, {"a", stale()}}, long, "connection refused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now, book := start, NewBook(scope, 0)
			for _, w := range test.writes {
				book.write(Create, w.name, w.err, now)
				now = now.Add(time.Second)
			}
			err := book.Stuck(now.Add(test.passed))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, test.reason)
			}
		})
	}
}

// TestStuckForgets: a failure of long ago, whose ConfigMap is gone, is no reason
// together with a failure of now.
func TestStuckForgets(t *testing.T) {
	book, down := NewBook(scope, 0), errors.New("connection refused")
	book.write(Create, "a", down, start)
	book.write(InSync, "a", nil, start)
	now := start.Add(24 * time.Hour)
	book.write(Create, "b", down, now)
	if err := book.Stuck(now.Add(time.Second)); err != nil {
		t.Errorf("stuck one second after the first failure: %v", err)
	}
}

// TestChange: what one action changes in the list of failures.
func TestChange(t *testing.T) {
	book, down := NewBook(scope, 0), errors.New("no answer")
	for _, name := range []string{"a", "b", "c", "d"} {
		if change := book.write(Create, name, down, start).Change; change.Appeared == nil || change.Appeared.Reason != down.Error() {
			t.Errorf("%s fails for the first time: %+v", name, change)
		}
	}
	book.End(book.Begin(Action{Kind: Conflict, Name: "conflict"}, nil, &Copy{}, Situation{Now: start}), nil, start)
	tests := []struct {
		name, reason string
		err          error
		object       string
		want         string
	}{
		{"the same failure again", "it is reported once", down, "a", "appeared false, cleared false, 0 retried, none left false"},
		{"another reason", "it is reported again", errors.New("forbidden"), "a", "appeared true, cleared false, 0 retried, none left false"},
		{"a stale write", "it is tried again", stale(), "a", "appeared false, cleared false, 0 retried, none left false"},
		{"the first that works again", "two others are tried at once", nil, "a", "appeared false, cleared true, 2 retried, none left false"},
		{"it works still", "nothing changed", nil, "a", "appeared false, cleared false, 0 retried, none left false"},
		{"the second", "two others are tried at once", nil, "b", "appeared false, cleared true, 2 retried, none left false"},
		{"the third", "one other is left", nil, "c", "appeared false, cleared true, 1 retried, none left false"},
		{"the last write", "only the conflict is left, which is not retried", nil, "d", "appeared false, cleared true, 0 retried, none left false"},
		{"the conflict", "the pace begins anew", nil, "conflict", "appeared false, cleared true, 0 retried, none left true"},
	}
	for _, test := range tests {
		change := book.write(Create, test.object, test.err, start).Change
		got := fmt.Sprintf("appeared %t, cleared %t, %d retried, none left %t", change.Appeared != nil, change.Cleared, len(change.Retry), change.NoneLeft)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}

// turns makes turns on the name a of a Book, each a second after the one before.
type turns struct {
	*Book
	now time.Time
}

func (s *turns) turn(kind Kind, source *Source, target *Copy, err error) (Turn, Outcome) {
	s.now = s.now.Add(time.Second)
	action := Action{Kind: kind, Name: "a"}
	if source != nil {
		action.Object = scope.desired(source, nil)
		if target != nil {
			action.Object = scope.desired(source, target.Meta)
		}
	}
	turn := s.Begin(action, source, target, Situation{Now: s.now})
	if turn.Wait > 0 {
		return turn, Outcome{}
	}
	return turn, s.End(turn, err, s.now)
}

// TestTurns: what one turn leaves for the next.
func TestTurns(t *testing.T) {
	source := onHub(configMap("a", one))
	labelled := onManaged(configMap("a", two, owned, immutable, label("team", "blue")))
	target, none, down := onManaged(configMap("a", two, owned)), (*Copy)(nil), errors.New("no answer")
	// fight makes repairs until one has to wait for more than one turn.
	fight := func(s *turns) Turn {
		for {
			if turn, _ := s.turn(Update, source, target, nil); turn.Wait > time.Second {
				return turn
			}
		}
	}
	tests := []struct {
		name, reason string
		do           func(s *turns) any
		want         any
	}{
		{"a change is written", "its latency counts", func(s *turns) any {
			s.Changed("a", s.now)
			_, out := s.turn(Create, source, none, nil)
			return out.Latency
		}, time.Second},
		{"a write without a change", "a repair has no latency", func(s *turns) any {
			_, out := s.turn(Update, source, target, nil)
			return out.Latency
		}, time.Duration(0)},
		{"a change is written at the second attempt", "its latency counts from the change", func(s *turns) any {
			s.Changed("a", s.now)
			s.turn(Create, source, none, down)
			_, out := s.turn(Create, source, none, nil)
			return out.Latency
		}, 2 * time.Second},
		{"a change whose write waits on purpose", "the wait is no latency", func(s *turns) any {
			fight(s)
			s.Changed("a", s.now)
			s.turn(Update, source, target, nil)
			s.now = s.now.Add(time.Minute)
			turn, out := s.turn(Update, source, target, nil)
			return []any{turn.arrival.changed, out.Latency}
		}, []any{true, time.Duration(0)}},
		{"the first wait of a contest", "it has to be explained", func(s *turns) any {
			turn := fight(s)
			return []any{turn.Wait > 0, turn.Contested}
		}, []any{true, true}},
		{"the next wait of a contest", "it is explained", func(s *turns) any {
			fight(s)
			s.Explain("a", "injector")
			turn, _ := s.turn(Update, source, target, nil)
			return []any{turn.Wait > 0, turn.Contested}
		}, []any{true, false}},
		{"the next repair of a contest", "it keeps its reason", func(s *turns) any {
			fight(s)
			reason := s.Explain("a", "injector").Reason
			s.now = s.now.Add(10 * time.Second)
			s.turn(Update, source, target, nil)
			contested := s.Troubles().Contested
			return len(contested) == 1 && contested[0].Reason == reason
		}, true},
		{"in sync during a contest", "the name is looked at again when the contest ends", func(s *turns) any {
			fight(s)
			_, out := s.turn(InSync, source, target, nil)
			return out.LookAgain > 0
		}, true},
		{"a write that another writer was faster than", "it is a repair as well", func(s *turns) any {
			s.turn(Update, source, target, stale())
			return s.records["a"].contest.repairs
		}, 1},
		{"a write that the API server refuses", "it repairs nothing", func(s *turns) any {
			s.turn(Update, source, target, down)
			return s.records["a"].contest == nil
		}, true},
		{"a copy that is deleted and not created again", "the labels of others are created with it", func(s *turns) any {
			s.turn(Replace, source, labelled, down)
			turn, _ := s.turn(Create, source, none, down)
			again, _ := s.turn(Create, source, none, nil)
			return []string{turn.Action.Object.Labels["team"], again.Action.Object.Labels["team"]}
		}, []string{"blue", "blue"}},
		{"a failed write of a name that is held now", "it is no failure any more", func(s *turns) any {
			s.turn(Update, source, target, down)
			s.period = time.Minute
			turn, _ := s.turn(Delete, nil, target, nil)
			return []any{turn.Wait > 0, turn.Change.Cleared}
		}, []any{true, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.do(&turns{NewBook(scope, 0), start})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestCount(t *testing.T) {
	source := func(name string, changes ...configmaps.Change) *Source {
		return onHub(configMap(name, one, changes...))
	}
	copies := map[string]*Copy{"synced": onManaged(configMap("synced", one, owned)), "contested": onManaged(configMap("contested", one, owned))}
	sources := []*Source{source("synced"), source("pending"), source("conflict"), source("failed"), source("contested"),
		source("out", optOut), source("kube-root-ca.crt")}
	troubles := Summary{Conflicts: []string{"conflict"}, Failed: []Failure{{Name: "failed"}}, Contested: []Failure{{Name: "contested"}}}
	want := troubles
	want.Wanted, want.Synced, want.Pending = 5, 1, 1
	got := troubles.Count(sources, func(name string) *Copy { return copies[name] })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Failure{}, wanted{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBackOff(t *testing.T) {
	book := NewBook(scope, 0)
	var got []time.Duration
	for _, failed := range []bool{false, true, true, true, false, true} {
		got = append(got, book.BackOff("a", failed))
	}
	want := []time.Duration{0, retryBase, 2 * retryBase, 4 * retryBase, 0, retryBase}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
