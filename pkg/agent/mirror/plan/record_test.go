package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	start   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	wantOne = wantedOf(&Source{Digest: Digest{1}})
	wantTwo = wantedOf(&Source{Digest: Digest{2}})
)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestArrival(t *testing.T) {
	seen := func(seconds int) arrival { return arrival{changed: true, seen: at(seconds)} }
	delayed := arrival{changed: true}
	tests := []struct {
		name, reason string
		changes      []arrival
		want         arrival
	}{
		{"none", "nothing changed on the hub", nil, arrival{}},
		{"two changes", "the first one has waited longest", []arrival{seen(1), seen(2)}, seen(1)},
		{"tried again after a newer change", "the first one has waited longest", []arrival{seen(2), seen(1)}, seen(1)},
		{"put back without a change", "nothing changed on the hub", []arrival{{}}, arrival{}},
		{"delayed", "the change is not forgotten", []arrival{delayed}, delayed},
		{"a change after a delay", "its latency counts", []arrival{delayed, seen(3)}, seen(3)},
		{"a delay after a change", "the change came meanwhile", []arrival{seen(3), delayed}, seen(3)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got arrival
			for _, change := range test.changes {
				got = got.merge(change)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v: %s", got, test.want, test.reason)
			}
		})
	}
}

// fight lets another writer change a copy so long after each repair, for so long, and
// returns the contest and when the repairs were made.
func fight(answersAfter, lasts time.Duration) (*contest, []time.Duration) {
	var fought *contest
	var repairs []time.Duration
	for at := time.Duration(0); at < lasts && len(repairs) < 1e6; {
		now := start.Add(at)
		if wait := fought.wait(wantOne, now); wait > 0 {
			at += wait
			continue
		}
		fought = fought.wrote(wantOne, false, now)
		repairs = append(repairs, at)
		at += answersAfter
	}
	return fought, repairs
}

// TestContestIsPaced: whatever the period of the other writer, the mirror makes at
// most 30 repairs in the first minute, and one a minute after ten
// (docs/design.md#rule-11-contest).
func TestContestIsPaced(t *testing.T) {
	for _, period := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second,
		10 * time.Second, 30 * time.Second, 59 * time.Second, 2 * time.Minute} {
		t.Run(period.String(), func(t *testing.T) {
			_, repairs := fight(period, time.Hour)
			first, late := 0, map[time.Duration]int{}
			for _, at := range repairs {
				if at < time.Minute {
					first++
				}
				if at >= 10*time.Minute {
					late[at/time.Minute]++
				}
			}
			if first > 30 {
				t.Errorf("%d repairs in the first minute", first)
			}
			for minute, count := range late {
				if count > 1 {
					t.Errorf("%d repairs in minute %d", count, minute)
				}
			}
		})
	}
}

// TestContestDelays: the first repairs are made at once, then the waits double.
func TestContestDelays(t *testing.T) {
	var got []float64
	_, repairs := fight(time.Millisecond, 4*time.Minute)
	for _, at := range repairs {
		got = append(got, at.Round(time.Second).Seconds())
	}
	want := []float64{0, 0, 0, 1, 3, 7, 15, 31, 63, 123, 183}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContest(t *testing.T) {
	tests := []struct {
		name, reason string
		// do gets a contest whose last repair was made at 31 s; the next delay is 32 s.
		do   func(c *contest) any
		want any
	}{
		{"a repair waits", "another writer would answer it at once", func(c *contest) any { return c.wait(wantOne, at(40)) }, 23 * time.Second},
		{"a repair after the delay", "its turn has come", func(c *contest) any { return c.wait(wantOne, at(63)) }, time.Duration(0)},
		{"another name", "it is not contested", func(*contest) any { return (*contest)(nil).wait(wantOne, at(40)) }, time.Duration(0)},
		{"a change of the source", "it is never delayed", func(c *contest) any { return c.wait(wantTwo, at(40)) }, time.Duration(0)},
		{"the source goes", "it is never delayed", func(c *contest) any { return c.wait(wanted{}, at(40)) }, time.Duration(0)},
		{"a repair after a change of the source", "the other writer is still there", func(c *contest) any {
			return c.wrote(wantTwo, true, at(40)).wait(wantTwo, at(41))
		}, 31 * time.Second},
		{"the source's change is seen again, without other content", "a list or a label changes nothing", func(c *contest) any {
			return c.wrote(wantOne, true, at(63)).wait(wantOne, at(64))
		}, 59 * time.Second},
		{"the copy is deleted with its source", "there is nothing to repair", func(c *contest) any {
			return c.wrote(wanted{}, true, at(40)) == nil
		}, true},
		{"the write stands, not long enough", "the other writer may be slow", func(c *contest) any {
			same, rest := c.rest(wantOne, at(40))
			return []any{same == c, rest}
		}, []any{true, 55 * time.Second}},
		{"the write stands", "the other writer has stopped", func(c *contest) any {
			ended, rest := c.rest(wantOne, at(95))
			return []any{ended == nil, rest}
		}, []any{true, time.Duration(0)}},
		{"the source changed to what the copy is", "there is nothing to repair", func(c *contest) any {
			ended, rest := c.rest(wantTwo, at(40))
			return []any{ended == nil, rest}
		}, []any{true, time.Duration(0)}},
		{"a repair long after", "the contest is over", func(c *contest) any { return c.wrote(wantOne, false, at(200)).repairs }, 1},
		{"a first write for the source", "no record is kept of an ordinary change", func(*contest) any {
			return (*contest)(nil).wrote(wantOne, true, at(40)) == nil
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fought, _ := fight(0, 40*time.Second)
			if diff := cmp.Diff(test.want, test.do(fought)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestOtherManager(t *testing.T) {
	entry := func(manager string, seconds int) metav1.ManagedFieldsEntry {
		written := metav1.NewTime(at(seconds))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &written}
	}
	tests := []struct {
		name   string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		{"none", nil, ""},
		{"the agent alone", []metav1.ManagedFieldsEntry{entry("helloworld-agent", 1)}, ""},
		{"the latest of the others", []metav1.ManagedFieldsEntry{entry("old", 1), entry("injector", 3), entry("helloworld-agent", 4), entry("older", 2)}, "injector"},
		{"without a time", []metav1.ManagedFieldsEntry{{Manager: "injector"}}, "injector"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := OtherManager(test.fields); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// stale is an answer of an API server to a write on an object that has changed.
func stale() *StaleError {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("not today"))
	return &StaleError{Operation: "update ConfigMap a", Cause: conflict}
}

func TestLag(t *testing.T) {
	type step struct {
		version string
		err     error
	}
	behind, other := stale(), errors.New("no answer")
	same := func(version string, times int) []step {
		steps := make([]step, times)
		for i := range steps {
			steps[i] = step{version, behind}
		}
		return steps
	}
	tests := []struct {
		name, reason string
		steps        []step
		stale, raced bool
	}{
		{"once", "another writer was faster", same("1", 1), true, true},
		{"a few times", "the cache is behind", same("1", staleLimit-1), true, false},
		{"too often", "the API server refuses", same("1", staleLimit), false, false},
		{"and again", "it still refuses", same("1", staleLimit+3), false, false},
		{"no object in the cache", "a create that is refused counts as well", same("", staleLimit), false, false},
		{"a newer object", "the cache is not behind for good", append(same("1", staleLimit), step{"2", behind}), true, true},
		{"after a success", "what was before is over", append(same("1", staleLimit), step{"1", nil}, step{"2", behind}), true, true},
		{"on the version of a success", "the cache is behind the agent's own write", []step{{"1", nil}, {"1", behind}}, true, false},
		{"too often on the version of a success", "the API server refuses", append([]step{{"1", nil}}, same("1", staleLimit)...), false, false},
		{"another failure", "it is one like any other", []step{{"1", other}}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l *lag
			var err error
			var raced bool
			for _, s := range test.steps {
				l, raced, err = l.after(Update, s.version, s.err)
			}
			if errors.Is(err, ErrStale) != test.stale || raced != test.raced {
				t.Errorf("%s: got %v, raced %t", test.reason, err, raced)
			}
		})
	}
	if got := behind.refusal().Error(); !strings.HasSuffix(got, "not today") || strings.Contains(got, ErrStale.Error()) {
		t.Errorf("the refusal is %q", got)
	}
}

func TestLost(t *testing.T) {
	failed := errors.New("no answer")
	before := &metav1.ObjectMeta{Labels: map[string]string{"team": "blue"}}
	replaced := metav1.ObjectMeta{Labels: map[string]string{"team": "green"}}
	tests := []struct {
		name, reason string
		kind         Kind
		err          error
		want         *metav1.ObjectMeta
	}{
		{"replaced", "the copy has it all", Replace, nil, nil},
		{"deleted, not created", "it is in memory only now", Replace, failed, &replaced},
		{"not created either", "it is still needed", Create, failed, before},
		{"created", "the copy has it all", Create, nil, nil},
		{"no longer wanted", "there is no copy to set it on", Ignore, failed, nil},
		{"an object of another owner came", "the copy is not created", Conflict, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			action := Action{Kind: test.kind, Object: &corev1.ConfigMap{ObjectMeta: replaced}}
			if diff := cmp.Diff(test.want, lostAfter(before, action, test.err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
