//go:build postgres

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const logRows = "SELECT count(*) FROM hub_of_hubs.change_log"

// trim trims the log as the sync does, and reports whether more is left.
func trim(t *testing.T, store *Store) bool {
	t.Helper()
	more, err := store.Trim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return more
}

// pass has six minutes go by for the trimming.
func (d *database) pass() {
	d.tb.Helper()
	d.exec("UPDATE hub_of_hubs.change_log_state SET pending_since = pending_since - interval '6 minutes'")
}

// TestTrim: the log does not grow for ever, readers that keep up notice nothing, and one that was away is told so.
func TestTrim(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	_, away := look(t, store, "")
	before := d.text(logRows)
	trim(t, store)
	if got := d.text(logRows); got != before {
		t.Errorf("%s rows are left of %s right after they were written", got, before)
	}
	d.pass()
	trim(t, store) // what is there now may go at the next turn
	d.exec("UPDATE status.compliance SET compliance = 'unknown'")
	_, current := look(t, store, away.Next)
	if current.Reset {
		t.Error("a reset for a reader that keeps up")
	}
	d.pass()
	trim(t, store)
	if got := d.text(logRows); got != "1" {
		t.Errorf("%s rows are left, want the one that is not old", got)
	}
	if _, changes := look(t, store, current.Next); changes.Reset {
		t.Error("a reset for a reader that keeps up, after the trim")
	}
	if _, changes := look(t, store, away.Next); !changes.Reset {
		t.Error("no reset for a reader that was away")
	}
	d.pass()
	trim(t, store)
	if got := d.text(logRows); got != "0" {
		t.Errorf("%s rows are left, want none", got)
	}
}

// TestTrimmedWhileOpen: a reader saw the log while a transaction was open that had begun before one that was committed,
// and has been away since. Then nothing began later that was trimmed, and yet something was that it has not seen.
func TestTrimmedWhileOpen(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	d.pass()
	open := d.another()
	defer open.conn.Close(t.Context())
	open.exec("BEGIN")
	open.exec("UPDATE status.compliance SET compliance = 'unknown'")
	d.exec(`UPDATE status.placements SET payload = payload || '{"later": 1}'`)
	_, away := look(t, store, "")
	open.exec("COMMIT")
	trim(t, store) // what is there now may go at the next turn
	d.pass()
	trim(t, store)
	if got := d.text(logRows); got != "0" {
		t.Fatalf("%s rows are left: the test shows nothing", got)
	}
	if _, changes := look(t, store, away.Next); !changes.Reset {
		t.Error("no reset for a reader that missed a change")
	}
}

// TestTrimKeepsWhatIsLate: what was not committed yet when the time of the trim began is not old, however long ago its
// transaction began.
func TestTrimKeepsWhatIsLate(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	late := d.another()
	defer late.conn.Close(t.Context())
	late.exec("BEGIN")
	late.exec("UPDATE status.compliance SET compliance = 'unknown'")
	d.pass()
	trim(t, store)
	_, at := look(t, store, "")
	late.exec("COMMIT")
	d.pass()
	trim(t, store)
	if got := d.text(logRows); got != "1" {
		t.Errorf("%s rows are left, want the one that was late", got)
	}
	got, changes := look(t, store, at.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" && !changes.Reset {
		t.Errorf("a late change is lost (-want +got):\n%s", diff)
	}
}
