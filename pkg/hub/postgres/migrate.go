package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

//go:embed migrations/*.sql
var embedded embed.FS

const (
	versionTable = "hub_of_hubs.schema_version"
	// migrationLock is an advisory lock that only migrations of this project take: an arbitrary number.
	migrationLock = int64(4820177349215661)
	// oldestServer is PostgreSQL 13: the log of changes needs xid8 and pg_snapshot.
	oldestServer = 130000
	unlockWithin = 10 * time.Second
)

// migrationFiles are named NNN_what.sql, from 001 on without a gap.
func migrationFiles() (fs.FS, error) {
	return fs.Sub(embedded, "migrations")
}

// newestMigration is the version that a database has when all migrations ran.
var newestMigration = sync.OnceValue(func() int32 {
	files, err := migrationFiles()
	if err != nil {
		return 0
	}
	names, err := migrate.FindMigrations(files)
	if err != nil {
		return 0
	}
	return int32(len(names))
})

// Migrate brings a database's tables, indexes, triggers and roles up to date. It is run as the owner of the tables, may
// be run any number of times and by any number of processes at once, and only goes forward: a database that a newer
// program migrated is left as it is. Each migration is one transaction.
func Migrate(ctx context.Context, url string) error {
	config, err := parse(url)
	if err != nil {
		return err
	}
	secrets := secretsOf(url)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return describe(err, secrets, "migrate the database")
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return describe(lockAndMigrate(ctx, conn), secrets, "migrate the database")
}

// lockAndMigrate lets one process at a time migrate: the others wait, and then find nothing to do.
func lockAndMigrate(ctx context.Context, conn *pgx.Conn) (err error) {
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %d: 13 or later is needed", version/10000)
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWithin)
		defer cancel()
		_, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
		err = errors.Join(err, unlockErr)
	}()
	if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS hub_of_hubs"); err != nil {
		return err
	}
	return runMigrations(ctx, conn)
}

func runMigrations(ctx context.Context, conn *pgx.Conn) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	migrator, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return err
	}
	if err := migrator.LoadMigrations(files); err != nil {
		return err
	}
	version, err := migrator.GetCurrentVersion(ctx)
	if err != nil {
		return err
	}
	if int(version) >= len(migrator.Migrations) {
		return nil
	}
	return migrator.Migrate(ctx)
}
