package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
)

// FuzzPlan reads two states from bytes, two for each name, plans, applies the plan as
// an API server would, and plans again. Whatever the states are, the first plan writes
// no object of others, and the second writes nothing.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	// An excluded name on the hub only, on both sides, and marked as a copy.
	f.Add([]byte{0, 0, 0, 0, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 1, 0x15, 0, 0, 0, 0x83})
	f.Add([]byte{1, 0, 0, 1, 1, 1, 2, 5})
	f.Add([]byte{0x81, 0x07, 0x13, 0x2f, 0xff, 0xff, 0x01, 0x41})
	f.Add([]byte{0x09, 0x1d, 0x05, 0x19, 0x03, 0x15, 0x01, 0x95, 0x01, 0x0d})
	// Every kind of plan, with and without binary data and immutability, beside
	// excluded names on both sides.
	f.Add([]byte{0x01, 0x00, 0x11, 0x83, 0x01, 0x83, 0x19, 0x8b, 0x01, 0x87, 0x03, 0x83})
	f.Add([]byte{0x00, 0x83, 0x29, 0xa3, 0x01, 0x04, 0x01, 0x05, 0x01, 0x85, 0x09, 0x0d})
	f.Add([]byte{0x01, 0x43, 0x00, 0xc3, 0x01, 0xc7, 0x01, 0xcf, 0x03, 0xff, 0xff, 0x8f})
	// The uninstall marker on both sides, and changes of copies that others have
	// labelled: an update, an adoption and a replacement.
	f.Add([]byte{0x11, 0xa3, 0x11, 0x25, 0, 0, 0x19, 0xab, 0, 0, 0, 0, 0x01, 0x87})
	f.Fuzz(func(t *testing.T, state []byte) {
		hub, managed := configmaps.FromBytes(state)
		before := configmaps.Clone(managed)
		actions := planAll(hub, managed)
		for _, action := range actions {
			apply(t, managed, action)
		}
		for name, cm := range before {
			if !configmaps.MayWrite(cm) && cmp.Diff(cm, managed[name]) != "" {
				t.Errorf("wrote what is not ours: %s", cmp.Diff(cm, managed[name]))
			}
		}
		for _, action := range planAll(hub, managed) {
			if action.Kind.Writes() {
				t.Errorf("planned again: %s %s", action.Kind, action.Name)
			}
		}
		for name, cm := range hub {
			configmaps.Check(t, cm, before[name], managed[name])
			configmaps.CheckLabel(t, before[name], managed[name])
		}
	})
}

// planAll plans every name.
func planAll(hub, managed map[string]*corev1.ConfigMap) []Action {
	var actions []Action
	for _, name := range configmaps.Names {
		var source *Source
		var target *Copy
		if cm := hub[name]; cm != nil {
			source = NewSource(cm)
		}
		if cm := managed[name]; cm != nil {
			target = scope.NewCopy(cm)
		}
		actions = append(actions, scope.Plan(name, source, target))
	}
	return actions
}

// apply does with an action what an API server does, and fails the test where an API
// server would reject it.
func apply(t *testing.T, managed map[string]*corev1.ConfigMap, action Action) {
	t.Helper()
	if action.Kind.Writes() && configmaps.Excluded(action.Name) {
		t.Fatalf("%s of the excluded name %s", action.Kind, action.Name)
	}
	present := managed[action.Name]
	switch action.Kind {
	case Create:
		if present != nil {
			t.Fatalf("create of %s, which is there", action.Name)
		}
		managed[action.Name] = stored(action.Object)
	case Update:
		if present == nil || present.UID != action.Object.UID || present.ResourceVersion != action.Object.ResourceVersion {
			t.Fatalf("update of %s names another object", action.Name)
		}
		if configmaps.IsImmutable(present) && (!configmaps.IsImmutable(action.Object) || !configmaps.SameContent(present, action.Object)) {
			t.Fatalf("update of the immutable %s", action.Name)
		}
		managed[action.Name] = stored(action.Object)
	case Delete, Replace:
		if present == nil || present.UID != action.UID || present.ResourceVersion != action.ResourceVersion {
			t.Fatalf("delete of %s names another object", action.Name)
		}
		delete(managed, action.Name)
		if action.Kind == Replace {
			managed[action.Name] = stored(action.Object)
		}
	}
}

func stored(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm = cm.DeepCopy()
	cm.UID, cm.ResourceVersion = types.UID("new"+cm.Name), "2"
	return cm
}

// FuzzBook gives a Book a sequence of events, two bytes each, and checks the
// invariants of Record after each of them.
func FuzzBook(f *testing.F) {
	f.Add([]byte{})
	// A fight over one copy, and its end.
	f.Add([]byte{0x00, 0x00, 0x12, 0x00, 0x22, 0x00, 0x22, 0x00, 0x22, 0x00, 0x22, 0x00, 0x22, 0x01, 0x02, 0x07})
	// Sources that a list lacks, held and released.
	f.Add([]byte{0x52, 0x00, 0x53, 0x00, 0x52, 0x01, 0x53, 0x01, 0x50, 0x02, 0x52, 0x03, 0x52, 0x08})
	// A replacement that fails half-way.
	f.Add([]byte{0x32, 0x10, 0x12, 0x20, 0x12, 0x00, 0x00, 0x07})
	f.Fuzz(func(t *testing.T, events []byte) {
		book, now := NewBook(scope, time.Minute), start
		names := []string{"a", "b", "c", "d"}
		for i := 0; i+1 < len(events); i += 2 {
			now = now.Add(time.Duration(events[i+1]&7) * 5 * time.Second)
			event(t, book, names[events[i]&3], events[i]>>4, events[i]>>2&3, events[i+1]>>3, now, names)
			checkBook(t, book)
		}
		// At the end every name is in sync for long.
		for range 2 {
			now = now.Add(24 * time.Hour)
			for _, name := range names {
				turn := book.Begin(Action{Kind: InSync, Name: name}, &Source{}, &Copy{}, Situation{Now: now})
				book.End(turn, nil, now)
				book.BackOff(name, false)
			}
		}
		if len(book.records) > 0 {
			t.Errorf("%d records of names at rest", len(book.records))
		}
	})
}

// event is one event of FuzzBook.
func event(t *testing.T, book *Book, name string, what, variant, flags byte, now time.Time, names []string) {
	t.Helper()
	kinds := []Kind{InSync, Create, Update, Replace, Delete, Delete, Conflict, Wait, Ignore}
	switch {
	case what == 0 && variant == 0:
		book.Changed(name, now)
	case what == 0 && variant == 1:
		book.Deleted(name)
	case what == 0 && variant == 2:
		book.Suspend()
	default:
		action := Action{Kind: kinds[int(what)%len(kinds)], Name: name, Object: &corev1.ConfigMap{}}
		source := &Source{Identity: Identity{Name: name}, Digest: Digest{variant}}
		if action.Kind == Delete {
			source = nil
		}
		turn := book.Begin(action, source, &Copy{}, Situation{Now: now, Released: flags&1 != 0,
			Missing: func() ([]string, int) { return names, len(names) }})
		if turn.Contested {
			book.Explain(name, "injector")
		}
		if turn.Wait > 0 {
			if !action.Kind.Writes() {
				t.Errorf("%s waits", action.Kind)
			}
			return
		}
		var err error
		switch flags >> 1 & 3 {
		case 1:
			err = errors.New("no answer")
		case 2:
			err = stale()
		}
		if !action.Kind.Writes() {
			err = nil
		}
		out := book.End(turn, err, now)
		book.BackOff(name, out.Err != nil)
		if r := book.records[name]; err == nil && r != nil && (r.lost != nil || r.attempts > 0) {
			t.Errorf("a record of a failure after %s succeeded: %+v", action.Kind, r)
		}
	}
}

// checkBook checks the invariants of Record.
func checkBook(t *testing.T, book *Book) {
	t.Helper()
	count := 0
	for name, r := range book.records {
		if *r == (Record{}) {
			t.Errorf("%s is at rest and has a record", name)
		}
		if (r.removal == doubted) == r.doubtedSince.IsZero() {
			t.Errorf("%s: state %d, doubted since %s", name, r.removal, r.doubtedSince)
		}
		if r.contest != nil && r.contest.reason != "" && r.contest.delay() == 0 {
			t.Errorf("%s is contested after %d repairs", name, r.contest.repairs)
		}
		if r.removal == held {
			count++
		}
	}
	if count != book.held {
		t.Errorf("%d records are held, counted %d", count, book.held)
	}
}
