//go:build postgres

package postgres

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrimBacklog: writers that write row by row leave as many rows in the log. A call deletes a limited number of them, and
// the reader is told that more are left.
func TestTrimBacklog(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	d.exec("INSERT INTO hub_of_hubs.change_log (source, key) SELECT 'compliance', '" + id("1") + "' FROM generate_series(1, 150000)")
	d.pass()
	trim(t, store) // the rows that are there now may be deleted after another five minutes
	d.pass()
	if more := trim(t, store); !more {
		t.Error("the first call reports that nothing is left")
	}
	count := func() int {
		n, err := strconv.Atoi(d.text(logRows))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if left := count(); left < 50_000 || left > 51_000 {
		t.Errorf("the first call left %d of 150,000 rows, want it to delete 100,000", left)
	}
	if more := trim(t, store); more || count() != 0 {
		t.Errorf("the second call left %d rows, more: %t", count(), more)
	}
}

// TestTrimIdle: an idle database is not written to.
func TestTrimIdle(t *testing.T) {
	d := newDatabase(t)
	store := d.open(reader)
	d.pass()
	const state = "SELECT ctid FROM hub_of_hubs.change_log_state"
	before := d.text(state)
	if more := trim(t, store); more || d.text(state) != before {
		t.Errorf("the state was written, or more is left: %t", more)
	}
}

// TestTrimRights: the reader may call the function, although it may not delete rows, and the defaults of its sessions do not
// matter. A writer may not call it.
func TestTrimRights(t *testing.T) {
	d := newDatabase(t)
	d.world()
	if _, err := d.open(writer).Trim(t.Context()); err == nil || !strings.Contains(err.Error(), "permission denied for function") {
		t.Errorf("a writer: got %v, want permission denied", err)
	}
	user, err := d.server.NewUser(t.Context(), d.url, reader)
	if err != nil {
		t.Fatal(err)
	}
	store := openURL(t, Options{URL: user + "&default_transaction_isolation=serializable&default_transaction_read_only=on"})
	d.pass()
	trim(t, store)
	d.pass()
	if trim(t, store); d.text(logRows) != "0" {
		t.Errorf("%s rows are left", d.text(logRows))
	}
}

// TestTrimOnce: of two readers one trims, and the other does not wait for it.
func TestTrimOnce(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	other := d.another()
	defer other.conn.Close(t.Context())
	other.exec("BEGIN")
	other.exec("UPDATE hub_of_hubs.change_log_state SET pending = pending") // as a trim does
	ctx, cancel := context.WithTimeout(t.Context(), patience/4)
	defer cancel()
	if more, err := store.Trim(ctx); err != nil || more {
		t.Errorf("more: %t, %v", more, err)
	}
}

// TestRestored: a dump that is restored into another server brings the other one's transaction ids with it, which may lie
// in the future there.
func TestRestored(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.exec(`INSERT INTO hub_of_hubs.change_log (source, key, xid)
		SELECT 'compliance', '` + id("1") + `', (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000 + i)::text::xid8 FROM generate_series(1, 100) i`)
	d.exec(`INSERT INTO hub_of_hubs.change_log (source, key, xid)
		SELECT 'compliance', '', (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000)::text::xid8`)
	d.exec(`UPDATE hub_of_hubs.change_log_state SET (trimmed, pending) = (SELECT s, s FROM (
		SELECT (x || ':' || x || ':')::pg_snapshot AS s FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000 AS x) n) m)`)
	store := d.open(reader)
	_, first := look(t, store, "")
	got, second := look(t, store, first.Next)
	if len(got) != 0 || second.Reset {
		t.Errorf("what is of another server: changed %v, reset %v", got, second.Reset)
	}
	d.exec("UPDATE status.compliance SET compliance = 'unknown'")
	got, third := look(t, store, second.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" || third.Reset {
		t.Errorf("reset %v; what changed here, -want +got:\n%s", third.Reset, diff)
	}
	d.pass()
	d.exec("UPDATE status.compliance SET compliance = 'compliant'")
	trim(t, store)
	if got := d.text(logRows + " WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"); got != "0" {
		t.Errorf("%s rows of another server are left", got)
	}
	got, fourth := look(t, store, third.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" || fourth.Reset {
		t.Errorf("after the trim: reset %v; what changed here, -want +got:\n%s", fourth.Reset, diff)
	}
	for range 2 {
		d.pass()
		trim(t, store)
		if _, fourth = look(t, store, fourth.Next); fourth.Reset {
			t.Error("a reset for a reader that keeps up")
		}
	}
	if got := d.text(logRows); got != "0" {
		t.Errorf("%s rows are left: the log is not trimmed any more", got)
	}
}
