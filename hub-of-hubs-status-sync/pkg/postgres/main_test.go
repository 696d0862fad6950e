//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// shared is the server of all tests that do not kill theirs.
var shared *postgrestest.Server

// patience is far more than anything here takes.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := postgrestest.Use(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = server
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// database is a migrated database of the test's own, as its owner.
type database struct {
	tb     testing.TB
	server *postgrestest.Server
	url    string
	conn   *pgx.Conn
}

func newDatabase(tb testing.TB) *database {
	tb.Helper()
	d := emptyDatabase(tb, shared)
	if err := Migrate(tb.Context(), d.url); err != nil {
		tb.Fatal(err)
	}
	return d
}

func emptyDatabase(tb testing.TB, server *postgrestest.Server) *database {
	tb.Helper()
	url, drop, err := server.NewDatabase(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	d := &database{tb: tb, server: server, url: url}
	d.connect()
	tb.Cleanup(func() {
		_ = d.conn.Close(context.WithoutCancel(tb.Context()))
		if err := drop(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// another is the same database by a connection of its own, which the caller closes.
func (d *database) another() *database {
	d.tb.Helper()
	other := &database{tb: d.tb, server: d.server, url: d.url}
	other.connect()
	return other
}

func (d *database) connect() {
	d.tb.Helper()
	var err error
	if d.conn, err = pgx.Connect(d.tb.Context(), d.url); err != nil {
		d.tb.Fatal(err)
	}
}

// exec runs a statement as the owner.
func (d *database) exec(sql string, args ...any) {
	d.tb.Helper()
	if _, err := d.conn.Exec(d.tb.Context(), sql, args...); err != nil {
		d.tb.Fatalf("%s: %v", sql, err)
	}
}

// text asks for one value.
func (d *database) text(sql string, args ...any) string {
	d.tb.Helper()
	var value string
	if err := d.conn.QueryRow(d.tb.Context(), "SELECT ("+sql+")::text", args...).Scan(&value); err != nil {
		d.tb.Fatalf("%s: %v", sql, err)
	}
	return value
}

// open opens the store as a user in a role; empty: as the owner.
func (d *database) open(role string) *Store {
	d.tb.Helper()
	url := d.url
	if role != "" {
		var err error
		if url, err = d.server.NewUser(d.tb.Context(), d.url, role); err != nil {
			d.tb.Fatal(err)
		}
	}
	return openURL(d.tb, Options{URL: url})
}

func openURL(tb testing.TB, options Options) *Store {
	tb.Helper()
	store, err := Open(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

// The roles that the migrations make.
const (
	reader = "hub_of_hubs_status_reader"
	writer = "hub_of_hubs_status_writer"
)

// zeroKey is before all keys.
var zeroKey status.Key
