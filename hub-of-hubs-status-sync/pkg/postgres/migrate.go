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
	// migrationLock is the key of the migrations' advisory lock, an arbitrary number. The lock of the library has no timeout and
	// is not held while the schema is created.
	migrationLock = int64(4820177349215661)
	// oldestServer is PostgreSQL 13: the log of changes needs xid8 and pg_snapshot.
	oldestServer = 130000
	unlockWithin = 10 * time.Second
	// lockWithin bounds the wait for another migration. The longest builds an index on a hundred million rows.
	lockWithin = 15 * time.Minute
)

// migrationFiles returns the files, which are named NNN_topic.sql from 001 on without a gap.
func migrationFiles() (fs.FS, error) {
	return fs.Sub(embedded, "migrations")
}

// newestMigration returns the version of a database after all migrations.
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

// Migrate creates and updates a database's tables, indexes, triggers and roles. The user of the URL has to own the tables.
// Migrate may run repeatedly and concurrently. It does not change a database that a newer program migrated. Each migration
// is one transaction. The URL has to name the server itself: a pooler in transaction mode may keep the lock.
func Migrate(ctx context.Context, url string) error {
	return migrateWithin(ctx, url, lockWithin)
}

func migrateWithin(ctx context.Context, url string, patience time.Duration) error {
	config, err := parse(ctx, url)
	if err != nil {
		return err
	}
	secrets := secretsOf(url)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return describe(err, secrets, "migrate the database")
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return describe(lockAndMigrate(ctx, conn, patience), secrets, "migrate the database")
}

// lockAndMigrate serializes migrations: the other processes wait, and then have nothing to do.
func lockAndMigrate(ctx context.Context, conn *pgx.Conn, patience time.Duration) (err error) {
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %d: 13 or later is needed", version/10000)
	}
	if err := lock(ctx, conn, patience); err != nil {
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

// lock acquires the lock, and returns an error when it is not released within patience.
func lock(ctx context.Context, conn *pgx.Conn, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := conn.Exec(waiting, "SELECT pg_advisory_lock($1)", migrationLock)
	if err != nil && ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("another session has held the migrations' lock for %s: either a migration is running, then run this one "+
			"again later; or one went through a pooler, such as PgBouncer, that kept the lock, then end the session (SELECT "+
			"pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "+
			"AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (classid::bigint << 32 | objid::bigint) = %d) "+
			"and have DATABASE_URL name the server itself: %w", patience, migrationLock, err)
	}
	return err
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
