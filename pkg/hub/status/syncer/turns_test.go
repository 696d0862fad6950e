package syncer

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
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
