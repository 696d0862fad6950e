//go:build postgres

package postgres

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// backup is a database of a server of the test's own, and its backup.
type backup struct {
	*testing.T
	server       *postgrestest.Server
	address, own string
	file         string
}

func (b *backup) exec(sql string) {
	b.Helper()
	if err := b.server.Exec(b.Context(), b.server.URL("postgres"), sql); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// run runs one of PostgreSQL's programs on the database.
func (b *backup) run(program string, args ...string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), b.server.Program(program), append(args, "--dbname="+b.address)...)
	if output, err := command.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", program, err, output)
	}
}

// TestRestoredInPlace: a backup is restored in the same server, so neither its identity nor its transaction ids go back. What
// changed after the backup is lost, and the reader has to read everything.
func TestRestoredInPlace(t *testing.T) {
	server := ownServer(t)
	for _, c := range []struct {
		name          string
		save, restore func(*backup)
	}{
		{"the database is created anew", (*backup).dump, func(b *backup) {
			b.exec("DROP DATABASE " + b.own)
			b.exec("CREATE DATABASE " + b.own)
			b.run("pg_restore", b.file)
		}},
		{"the tables are created anew", (*backup).dump, func(b *backup) { b.run("pg_restore", "--clean", b.file) }},
		{"a copy takes the database's name", func(b *backup) { b.exec("CREATE DATABASE " + b.own + "_copy TEMPLATE " + b.own) }, func(b *backup) {
			b.exec("ALTER DATABASE " + b.own + " RENAME TO " + b.own + "_gone")
			b.exec("ALTER DATABASE " + b.own + "_copy RENAME TO " + b.own)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBackup(t, server)
			b.once(func(d *database, _ *Store) { d.world() })
			c.save(b)
			var at, changes status.Changes
			b.once(func(d *database, store *Store) {
				d.exec("UPDATE status.compliance SET compliance = 'unknown'")
				_, at = look(t, store, "")
			})
			c.restore(b)
			b.once(func(d *database, store *Store) {
				if unknown := d.text("SELECT count(*) FROM status.compliance WHERE compliance = 'unknown'"); unknown != "0" {
					t.Fatalf("%s rows are of after the backup: the test shows nothing", unknown)
				}
				_, changes = look(t, store, at.Next)
			})
			if !changes.Reset {
				t.Errorf("no reset at the cursor %s, the restored database's is %s", at.Next, changes.Next)
			}
		})
	}
}

func newBackup(t *testing.T, server *postgrestest.Server) *backup {
	t.Helper()
	address, _, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &backup{T: t, server: server, address: address, own: strings.TrimPrefix(parsed.Path, "/"),
		file: filepath.Join(t.TempDir(), "backup")}
}

func (b *backup) dump() { b.run("pg_dump", "--format=custom", "--file="+b.file) }

// once connects to the database for one use: a database with connections can be neither copied, dropped nor renamed.
func (b *backup) once(use func(*database, *Store)) {
	b.Helper()
	d := &database{tb: b, server: b.server, url: b.address}
	d.connect()
	defer d.conn.Close(context.WithoutCancel(b.Context()))
	store, err := Open(b.Context(), Options{URL: b.address})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	use(d, store)
}
