//go:build postgres

package postgres

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// eventually polls until f says true.
func eventually(tb testing.TB, what string, f func(ctx context.Context) bool) {
	tb.Helper()
	err := wait.PollUntilContextTimeout(tb.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) { return f(ctx), nil })
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// ownServer starts a server that the test may kill.
func ownServer(tb testing.TB) *postgrestest.Server {
	tb.Helper()
	// what a crash must not lose has to be on the disk
	server, err := postgrestest.Start(tb.Context(), postgrestest.Options{
		Settings: map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

// ownDatabase is a migrated database on a server of the test's own.
func ownDatabase(tb testing.TB) (*postgrestest.Server, string) {
	tb.Helper()
	server := ownServer(tb)
	address, _, err := server.NewDatabase(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if err := Migrate(tb.Context(), address); err != nil {
		tb.Fatal(err)
	}
	return server, address
}

// TestKilledAndBack: the same store goes on when the database is back, and its cursor has lost nothing.
func TestKilledAndBack(t *testing.T) {
	server, address := ownDatabase(t)
	d := &database{tb: t, server: server, url: address}
	d.connect()
	d.world()
	store := d.open("")
	_, at := look(t, store, "")
	apply(t, store, "hub1", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "c1", "unknown")}})

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Changes(t.Context(), at.Next); err == nil {
		t.Error("what changed was read from a database that is away")
	}
	if _, err := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")}); err == nil {
		t.Error("rows were read from a database that is away")
	}
	if _, err := store.Apply(t.Context(), "hub1", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "c2", "unknown")}}); err == nil {
		t.Error("rows were written to a database that is away")
	}
	if err := server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store reaches the database again", func(ctx context.Context) bool { return store.Ping(ctx) == nil })
	apply(t, store, "hub1", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "c2", "unknown")}})
	got, at := look(t, store, at.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" || at.Reset {
		t.Errorf("reset %v; what changed before and after, -want +got:\n%s", at.Reset, diff)
	}
	snapshot, err := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")})
	if err != nil || snapshot.Rows != 3 {
		t.Errorf("read %d rows, %v; want 3", snapshot.Rows, err)
	}
}

// TestCutInTheMiddle: wherever the connection is cut, a read is whole or an error, never a shorter truth.
func TestCutInTheMiddle(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.exec(`INSERT INTO status.compliance SELECT '` + id("1") + `', 'c' || i, 'hub3', 'none', 'unknown' FROM generate_series(1, 2000) i`)
	parsed, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, parsed.Host)
	through := p.through(t, d.url)
	store := openURL(t, Options{URL: through})
	_, at := look(t, store, "")
	keys := []status.Key{key(status.KindPolicy, "1"), key(status.KindPlacement, "3")}
	whole := 0
	for left := int64(1); left < 250_000; left += left/2 + 512 {
		p.left.Store(left)
		snapshot, err := store.Read(t.Context(), keys)
		switch {
		case err == nil && snapshot.Rows != 2003:
			t.Errorf("cut after %d bytes: read %d rows of 2003 and said nothing", left, snapshot.Rows)
		case err == nil:
			whole++
		case len(snapshot.Objects) != 0:
			t.Errorf("cut after %d bytes: rows beside the error", left)
		}
		p.left.Store(left)
		if keys, err := store.Scan(t.Context(), zeroKey, 100); err == nil && len(keys) != 7 || err != nil && len(keys) != 0 {
			t.Errorf("cut after %d bytes: scanned %d of 7 keys, %v", left, len(keys), err)
		}
	}
	p.left.Store(-1)
	eventually(t, "the store reads again", func(ctx context.Context) bool {
		snapshot, err := store.Read(ctx, keys)
		return err == nil && snapshot.Rows == 2003
	})
	if got, _ := look(t, store, at.Next); len(got) != 0 {
		t.Errorf("changes where nothing changed: %v", got)
	}
	if whole > 3 {
		t.Errorf("%d reads were not cut: the test shows too little", whole)
	}
}

// TestCutWrite: a batch is written whole or not at all, and again is the way to find out.
func TestCutWrite(t *testing.T) {
	d := newDatabase(t)
	parsed, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, parsed.Host)
	through := p.through(t, d.url)
	store := openURL(t, Options{URL: through})
	batch := status.Batch{CompletePolicies: []string{id("1")}, Objects: []status.ObjectEntry{object(status.KindPlacement, "p", "")}}
	for _, cluster := range []string{"a", "b", "c"} {
		batch.Compliance = append(batch.Compliance, compliance("1", cluster, "unknown"))
	}
	for left := int64(1); left < 8192; left += left/4 + 16 {
		d.exec("DELETE FROM status.compliance")
		d.exec("DELETE FROM status.placements")
		p.left.Store(left)
		_, _ = store.Apply(t.Context(), "hub1", batch)
		eventually(t, "the server has ended the cut transaction", func(context.Context) bool {
			return d.text("SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() AND datname = current_database()") == "0"
		})
		got := d.text("SELECT (SELECT count(*) FROM status.compliance) || ' ' || (SELECT count(*) FROM status.placements)")
		if got != "0 0" && got != "3 1" {
			t.Errorf("cut after %d bytes: %s rows, want all or none", left, got)
		}
	}
	p.left.Store(-1)
	eventually(t, "the store writes again", func(ctx context.Context) bool {
		_, err := store.Apply(ctx, "hub1", batch)
		return err == nil
	})
	if got := d.text("SELECT count(*) FROM status.compliance"); got != "3" {
		t.Errorf("%s rows, want 3", got)
	}
}

func TestListen(t *testing.T) {
	d := newDatabase(t)
	parsed, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, parsed.Host)
	through := p.through(t, d.url)
	store := openURL(t, Options{URL: through})
	var heard atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	listen := func() { ended <- store.Listen(ctx, func() { heard.Add(1) }) }
	go listen()
	eventually(t, "it says that it listens", func(context.Context) bool { return heard.Load() == 1 })
	d.exec("INSERT INTO status.compliance VALUES ('" + id("1") + "', 'c', 'hub1', 'none', 'unknown')")
	eventually(t, "a change is heard", func(context.Context) bool { return heard.Load() == 2 })
	p.left.Store(0)
	d.exec("UPDATE status.compliance SET compliance = 'compliant'")
	if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("the connection was cut, got %v", err)
	}
	p.left.Store(-1)
	go listen()
	eventually(t, "it listens again", func(context.Context) bool { return heard.Load() == 3 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it was cancelled, got %v", err)
	}
}

// TestTimeout: a call ends when its time is over, on the server, too.
func TestTimeout(t *testing.T) {
	d := newDatabase(t)
	store := openURL(t, Options{URL: d.url, QueryTimeout: 200 * time.Millisecond})
	d.exec("BEGIN")
	d.exec("LOCK TABLE status.compliance IN ACCESS EXCLUSIVE MODE")
	d.exec("LOCK TABLE spec.policies IN ACCESS EXCLUSIVE MODE")
	_, err := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")})
	if err == nil {
		t.Error("read a locked table")
	}
	eventually(t, "the server gives up, too", func(context.Context) bool {
		return d.text("SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") == "0"
	})
	d.exec("ROLLBACK")
}

// TestWrongPassword: the message says what may be wrong and shows no password.
func TestWrongPassword(t *testing.T) {
	d := newDatabase(t)
	parsed, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(parsed.User.Username(), "wr0ng/s3cret")
	for what, err := range map[string]error{
		"ping":    openURL(t, Options{URL: parsed.String()}).Ping(t.Context()),
		"migrate": Migrate(t.Context(), parsed.String()),
	} {
		if err == nil || !strings.Contains(err.Error(), "URL-escaped") {
			t.Errorf("%s: got %v, want a word on escaping", what, err)
		}
		hides(t, err, "wr0ng")
	}
}

// TestOldWriters: writers that know nothing of us, and write a row at a time, work as they did: several at once, without
// rights to anything of ours, and columns that were added have defaults.
func TestOldWriters(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.exec("DO $$ BEGIN CREATE ROLE test_bridge NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
	d.exec("GRANT USAGE ON SCHEMA status TO test_bridge")
	d.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA status TO test_bridge")
	d.exec("ALTER TABLE status.compliance ADD COLUMN added text NOT NULL DEFAULT 'later'")
	d.exec("ALTER TABLE status.placements ADD COLUMN added text NOT NULL DEFAULT 'later'")
	follower := d.open(reader)
	_, at := look(t, follower, "")
	bridge := d.open("test_bridge")
	for _, sql := range []string{
		"INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES ('" + id("1") + "', 'old', 'hub1', 'none', 'unknown')",
		"UPDATE status.compliance SET compliance = 'non_compliant' WHERE leaf_hub_name = 'hub1' AND cluster_name = 'old'",
		"INSERT INTO status.placements (id, leaf_hub_name, payload) VALUES ('" + id("3") + "', 'hub2', '{\"metadata\": {\"name\": \"place\", \"namespace\": \"ns\"}}')",
		"UPDATE status.placements SET payload = payload || '{\"status\": {}}' WHERE leaf_hub_name = 'hub2'",
		"DELETE FROM status.placements WHERE leaf_hub_name = 'hub1'",
		"INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name) VALUES ('hub2')",
		"UPDATE status.leaf_hub_heartbeats SET last_timestamp = now() AT TIME ZONE 'UTC'",
	} {
		if _, err := bridge.pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	got, _ := look(t, follower, at.Next)
	if diff := cmp.Diff([]string{"Placement 3", "Policy 1"}, got); diff != "" {
		t.Errorf("what they changed, -want +got:\n%s", diff)
	}
	apply(t, d.open(writer), "hub1", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "new", "unknown")}})
	if got := d.text("SELECT string_agg(DISTINCT added, ',') FROM status.compliance"); got != "later" {
		t.Errorf("the added column has %q", got)
	}
}
