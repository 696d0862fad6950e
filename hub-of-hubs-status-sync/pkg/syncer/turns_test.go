package syncer

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestTurns: an expensive key waits, a cheap one does not, and what failed is
// due again since when it was.
func TestTurns(t *testing.T) {
	key := status.Key{Kind: status.KindPolicy, ID: "id"}
	start := time.Unix(1000, 0)
	turns := newTurns()
	if wait := turns.changed(key, start, start); wait != 0 {
		t.Errorf("the first change waits %s", wait)
	}
	turns.changed(key, start.Add(-time.Second), start)
	since, due := turns.begin(key)
	if !due || !since.Equal(start.Add(-time.Second)) {
		t.Errorf("due %v since %s, not since the oldest change", due, since)
	}
	turns.end(key, start, 300*time.Millisecond, since, errors.New("away"))
	if again, due := turns.begin(key); !due || !again.Equal(since) {
		t.Errorf("after an error: due %v since %s", due, again)
	}
	turns.end(key, start, 300*time.Millisecond, since, nil)
	if wait := turns.changed(key, start, start.Add(100*time.Millisecond)); wait != 200*time.Millisecond {
		t.Errorf("an expensive key waits %s", wait)
	}
	if wait := turns.changed(key, start, start.Add(time.Second)); wait != 0 {
		t.Errorf("and later it waits %s", wait)
	}
	turns.begin(key)
	if _, due := turns.begin(key); due {
		t.Error("what was done is due")
	}
}

// TestBudgetShrinks to something that fits beside any spec, and not to nothing.
func TestBudgetShrinks(t *testing.T) {
	key, turns := status.Key{ID: "id"}, newTurns()
	for range 30 {
		turns.shrink(key)
	}
	if got := turns.budgetOf(key); got != smallestBudget {
		t.Errorf("budget %d", got)
	}
	if got := turns.budgetOf(status.Key{ID: "other"}); got != status.Budget {
		t.Errorf("another key's budget %d", got)
	}
}

// TestObjects: the indexes follow the watch, and our own writes are no news.
func TestObjects(t *testing.T) {
	var told []string
	o := newObjects(func(one object, cameOrWent bool) {
		text := one.Name
		if cameOrWent {
			text += "!"
		}
		told = append(told, text)
	})
	object := func(version string, owner types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "u", ResourceVersion: version,
			OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: ptr.To(true)}}}}
	}
	o.set(object("1", "owner"))
	o.learn("u", "2", "digest")
	o.set(object("2", "other"))
	o.set(object("3", "other"))
	if len(o.owned("owner")) != 0 || len(o.owned("other")) != 1 {
		t.Errorf("owned by the old owner %v, by the new one %v", o.owned("owner"), o.owned("other"))
	}
	if one, found := o.named("ns", "x"); !found || o.digest(one) != "" {
		t.Errorf("at a version that nobody wrote, found %v, known %q", found, o.digest(one))
	}
	o.unset(object("3", "other"))
	if _, found := o.get("u"); found || len(o.owned("other")) != 0 || len(o.known)+len(o.byName)+len(o.byOwner) != 0 {
		t.Error("something is left of an object that went")
	}
	o.unset(object("3", "other"))
	if want := []string{"x!", "x", "x!"}; len(told) != len(want) || told[0] != want[0] || told[1] != want[1] || told[2] != want[2] {
		t.Errorf("told %v", told)
	}
}

// TestContested: what somebody else does again and again to what was written waits
// longer and longer; what the feed asks for does not, and is no such write.
func TestContested(t *testing.T) {
	key, now := status.Key{Kind: status.KindPolicy, ID: "id"}, time.Unix(1000, 0)
	turns := newTurns()
	turn := func(others bool) (contested, begins bool) {
		if others {
			now = now.Add(turns.touched(key, false, now))
		} else if wait := turns.changed(key, now, now); wait > 0 {
			t.Errorf("changed rows wait %s", wait)
		}
		turns.begin(key)
		contested, begins = turns.wrote(key, now)
		turns.end(key, now, 0, time.Time{}, nil)
		return contested, begins
	}
	for range 3 {
		if contested, _ := turn(false); contested {
			t.Error("what the feed asks for is contested")
		}
	}
	var waits []time.Duration
	var begun int
	for i := range 12 {
		before := now
		contested, begins := turn(true)
		waits = append(waits, now.Sub(before))
		if contested != (i > 0) {
			t.Errorf("write %d: contested %v", i, contested)
		}
		if begins {
			begun++
		}
		turn(false)
	}
	const ms = time.Millisecond
	want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms, 30000 * ms}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("it waits (-want +got):\n%s", diff)
	}
	if begun != 1 {
		t.Errorf("it begins %d times", begun)
	}
	now = now.Add(time.Hour)
	if contested, _ := turn(true); contested {
		t.Error("one change after a quiet time is contested")
	}
}

// TestContestedByRows: a turn that failed for the feed is the feed's when it is tried
// again.
func TestContestedByRows(t *testing.T) {
	key, now := status.Key{Kind: status.KindPolicy, ID: "id"}, time.Unix(1000, 0)
	turns := newTurns()
	turns.changed(key, time.Time{}, now)
	for range 5 {
		turns.begin(key)
		turns.end(key, now, 0, time.Time{}, errors.New("conflict"))
		turns.begin(key)
		if contested, _ := turns.wrote(key, now); contested {
			t.Error("it is contested")
		}
		turns.end(key, now, 0, time.Time{}, errors.New("conflict"))
	}
}

// TestTurnsForget: nothing is kept of a key whose object went, but what it is due for.
func TestTurnsForget(t *testing.T) {
	key, other := status.Key{Kind: status.KindPolicy, ID: "id"}, status.Key{Kind: status.KindPolicy, ID: "other"}
	turns, now := newTurns(), time.Unix(1000, 0)
	for _, k := range []status.Key{key, other} {
		turns.touched(k, true, now)
		turns.begin(k)
		turns.shrink(k)
		turns.wrote(k, now)
		turns.end(k, now, time.Minute, time.Time{}, nil)
	}
	turns.forget(key)
	if len(turns.budget) != 1 || len(turns.notBefore) != 1 || len(turns.contested) != 1 || len(turns.due)+len(turns.since)+len(turns.asked)+len(turns.atWork) != 0 {
		t.Errorf("%d budgets, %d times, %d contests are left of one key", len(turns.budget), len(turns.notBefore), len(turns.contested))
	}
	if turns.budgetOf(other) == status.Budget {
		t.Error("the other key's budget is forgotten")
	}
	turns.newRound()
	if turns.budgetOf(other) != status.Budget {
		t.Error("a new round does not try the whole status")
	}
}
