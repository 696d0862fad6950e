//go:build postgres

package postgres

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// indexesMigration is the number of the migration that creates the indexes.
const indexesMigration = 5

// inBackground runs Migrate or Unmigrate, and returns its log, and a function that waits for its end.
func (d *database) inBackground(t *testing.T, change func(context.Context, string) error) (logged func() string, end func() error) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{}))
	done := make(chan error, 1)
	go func() { done <- change(ctx, d.url) }()
	logged = func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
	return logged, func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Fatal("the change of the schema does not end")
			return nil
		}
	}
}

// until waits until a query returns true.
func (d *database) until(t *testing.T, sql string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(patience); d.text(sql, args...) != "true"; {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not true", sql)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// migrationWaits reports whether a statement of the migration waits for a lock.
const migrationWaits = `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE NOT l.granted AND a.datname = current_database() AND a.query LIKE $1)`

// TestMigrateLockedTable: a session holds a lock of a table that the migration needs. Writers of the table do not wait for
// that session, the session itself does not get into a deadlock by writing to another table, and the log names it.
func TestMigrateLockedTable(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.migrateTo(indexesMigration)
	holder := d.another()
	defer holder.conn.Close(t.Context())
	holder.exec("BEGIN")
	holder.insertRow("placements", "hub1", `{"metadata": {"namespace": "ns", "name": "held"}}`)
	logged, end := d.inBackground(t, Migrate)
	d.until(t, migrationWaits, "%TRIGGER log_insert % ON status.placements %")

	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	writer := d.another()
	defer writer.conn.Close(t.Context())
	if _, err := writer.conn.Exec(ctx, `INSERT INTO status.placements (id, leaf_hub_name, payload) VALUES ($1, 'hub2', '{}')`, id("b")); err != nil {
		t.Errorf("a writer waited for the session that holds the lock: %v", err)
	}
	d.until(t, migrationWaits, "%TRIGGER log_insert % ON status.placements %")
	// the migration created the triggers of this table before
	holder.exec(`INSERT INTO status.compliance VALUES ('` + id("1") + `', 'c1', 'hub1', 'none', 'compliant')`)
	pid := "heldBy\"=\"pid " + strconv.FormatUint(uint64(holder.conn.PgConn().PID()), 10)
	holder.exec("COMMIT")
	if err := end(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged(), pid) {
		t.Errorf("the log does not name %s:\n%s", pid, logged())
	}
	if err := d.open(reader).CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMigrateKilled: an index is built while the table is written. When the migration ends in the middle of it, the next one
// builds the index anew. An invalid index of another name stays.
func TestMigrateKilled(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.migrateTo(indexesMigration - 1)
	d.exec("CREATE INDEX compliance_error_idx ON status.compliance (error)")
	d.exec("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'status.compliance_error_idx'::regclass")
	holder := d.another()
	defer holder.conn.Close(t.Context())
	holder.exec("BEGIN")
	holder.exec(`INSERT INTO status.compliance VALUES ('` + id("1") + `', 'c1', 'hub1', 'none', 'compliant')`)
	_, end := d.inBackground(t, Migrate)
	const building = "CREATE INDEX CONCURRENTLY IF NOT EXISTS compliance_leaf_hub_non_compliant_idx%"
	d.until(t, migrationWaits, building)
	d.exec(`INSERT INTO status.compliance VALUES ('` + id("1") + `', 'c2', 'hub1', 'none', 'compliant')`)
	d.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE $1", building)
	if err := end(); err == nil {
		t.Error("the migration succeeded without its session")
	}
	const invalid = "SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY 1) FROM pg_index WHERE NOT indisvalid"
	if got, want := d.text(invalid), "status.compliance_error_idx status.compliance_leaf_hub_non_compliant_idx"; got != want {
		t.Fatalf("invalid before the second migration: %s, want %s", got, want)
	}
	holder.exec("COMMIT")
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	if got := d.text(invalid); got != "status.compliance_error_idx" {
		t.Errorf("invalid after the second migration: %s", got)
	}
}

// TestMigrateInvalid: every index that the migrations build is built anew when it is invalid.
func TestMigrateInvalid(t *testing.T) {
	d := newDatabase(t)
	d.exec(`UPDATE pg_index SET indisvalid = false WHERE NOT indisprimary AND indexrelid IN (SELECT oid FROM pg_class
		WHERE relnamespace IN ('spec'::regnamespace, 'status'::regnamespace, 'local_status'::regnamespace))`)
	const invalid = "SELECT coalesce(string_agg(indexrelid::regclass::text, ' '), '') FROM pg_index WHERE NOT indisvalid"
	before := d.text(invalid)
	d.exec("UPDATE "+versionTable+" SET version = $1", indexesMigration-1)
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	if stayed := d.text(invalid); before == "" || stayed != "" {
		t.Errorf("of the invalid indexes %q, these stayed: %q", before, stayed)
	}
}

// TestMigrateBlocked: a lock that is held for too long ends the migration, and the error names the session.
func TestMigrateBlocked(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.migrateTo(indexesMigration)
	d.exec("BEGIN")
	d.exec("LOCK TABLE status.placements IN ROW EXCLUSIVE MODE")
	err := migrateWithin(t.Context(), d.url, time.Millisecond)
	if want := "held by pid " + strconv.FormatUint(uint64(d.conn.PgConn().PID()), 10); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	d.exec("COMMIT")
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Error(err)
	}
}

// TestMigrateHolders: the session that looks for the holders of a lock is none of them.
func TestMigrateHolders(t *testing.T) {
	d := newDatabase(t)
	looking, waiting := d.another(), d.another()
	defer looking.conn.Close(t.Context())
	defer waiting.conn.Close(t.Context())
	looking.exec("BEGIN")
	looking.exec("LOCK TABLE status.placements")
	ended := make(chan error, 1)
	go func() {
		_, err := waiting.conn.Exec(t.Context(), "TRUNCATE status.placements")
		ended <- err
	}()
	pid := int32(waiting.conn.PgConn().PID())
	d.until(t, "SELECT cardinality(pg_blocking_pids($1)) = 1", pid)
	var holders, text string
	if err := looking.conn.QueryRow(t.Context(), holdersQuery, pid).Scan(&holders, &text); err != nil || holders != "" {
		t.Errorf("found itself: %s, %v", text, err)
	}
	looking.exec("COMMIT")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMigrateSlowly: a timeout that the database has for queries does not end the migration.
func TestMigrateSlowly(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.migrateTo(indexesMigration - 1)
	holder := d.another()
	defer holder.conn.Close(t.Context())
	holder.exec("BEGIN")
	holder.exec(`INSERT INTO status.compliance VALUES ('` + id("1") + `', 'c1', 'hub1', 'none', 'compliant')`)
	d.exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 100', current_database()); END $$")
	_, end := d.inBackground(t, Migrate)
	d.until(t, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX%'
	AND wait_event_type = 'Lock' AND now() - query_start > interval '300 milliseconds')`)
	holder.exec("COMMIT")
	if err := end(); err != nil {
		t.Error(err)
	}
}
