//go:build postgres

package postgres

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// TestTrimBacklog: writers that write row by row leave as many rows in the log. A heartbeat that has to remove them all
// would take longer than its writer waits, and every one after it, too.
func TestTrimBacklog(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.exec("INSERT INTO hub_of_hubs.change_log (source, key) SELECT 'compliance', '" + id("1") + "' FROM generate_series(1, 70000)")
	d.pass()
	d.beat() // what is there now may go at the next turn
	d.pass()
	count := func() int {
		n, err := strconv.Atoi(d.text(logRows))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	left := count()
	for beats := 1; left > 0; beats++ {
		d.beat()
		now := count()
		if now == left || left-now > 50_000 || beats > 20 {
			t.Fatalf("heartbeat %d: of %d rows %d are left; want some of them gone at each, and at most 50,000", beats, left, now)
		}
		left = now
	}
	d.exec("UPDATE status.compliance SET compliance = 'unknown'")
	last := d.text("SELECT last_trim FROM hub_of_hubs.change_log_state")
	d.beat()
	if got := d.text("SELECT last_trim FROM hub_of_hubs.change_log_state"); got != last {
		t.Errorf("the log was trimmed again at %s, right after %s", got, last)
	}
}

// TestTrimIsolation: a writer in a stricter isolation is not made to fail by another one's trim.
func TestTrimIsolation(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.pass()
	strict, err := pgx.Connect(t.Context(), d.url)
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close(t.Context())
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT FROM status.leaf_hub_heartbeats"} {
		if _, err := strict.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	d.exec("UPDATE hub_of_hubs.change_log_state SET pending = pending") // as a trim does
	if _, err := strict.Exec(t.Context(), "INSERT INTO status.leaf_hub_heartbeats VALUES ('hub2', now())"); err != nil {
		t.Errorf("the heartbeat failed: %v", err)
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
	// a writer that writes and beats in one transaction: its own rows are none of another server
	d.exec("BEGIN; UPDATE status.compliance SET compliance = 'compliant'; UPDATE status.leaf_hub_heartbeats SET last_timestamp = now(); COMMIT")
	if got := d.text(logRows + " WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"); got != "0" {
		t.Errorf("%s rows of another server are left", got)
	}
	got, fourth := look(t, store, third.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" || fourth.Reset {
		t.Errorf("after the trim: reset %v; what changed here, -want +got:\n%s", fourth.Reset, diff)
	}
	for range 2 {
		d.pass()
		d.beat()
		if _, fourth = look(t, store, fourth.Next); fourth.Reset {
			t.Error("a reset for a reader that keeps up")
		}
	}
	if got := d.text(logRows); got != "0" {
		t.Errorf("%s rows are left: the log is not trimmed any more", got)
	}
}
