package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
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
	// lockWithin bounds the wait for another migration, and for each lock. The longest migration builds an index on a hundred
	// million rows.
	lockWithin = 15 * time.Minute
	lockPoll   = time.Second
	// lockTimeout is how long a statement waits for a lock. Writers of the table wait as long behind it.
	lockTimeout = 2 * time.Second
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
// Migrate may run repeatedly and concurrently, and goes on where an interrupted one stopped. It does not change a database
// that a newer program migrated. Writers may go on meanwhile: it waits for no table longer than lockTimeout, and tries again.
// The URL has to name the server itself: a pooler in transaction mode may keep the lock.
func Migrate(ctx context.Context, url string) error {
	return migrateWithin(ctx, url, lockWithin)
}

func migrateWithin(ctx context.Context, url string, patience time.Duration) error {
	return locked(ctx, url, patience, "migrate the database", (*migration).migrate)
}

// locked runs a change of the database's schema with a connection that holds the migrations' lock.
func locked(ctx context.Context, url string, patience time.Duration, operation string, change func(*migration, context.Context) error) error {
	config, err := parse(ctx, url)
	if err != nil {
		return err
	}
	// a SET would end with the first migration: the library resets all parameters to those of the connection's start
	config.ConnConfig.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	// an index takes its time, whatever timeout the database or the user has for queries
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	secrets := secretsOf(url)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return describe(err, secrets, operation)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	m := &migration{conn: conn, patience: patience, clock: clock.RealClock{}}
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { m.holders.watch(watching, m.clock, config.ConnConfig.Copy(), conn.PgConn().PID()) })
	return describe(m.lockAndRun(ctx, change), secrets, operation)
}

// migration is the state of one Migrate or Unmigrate.
type migration struct {
	conn     *pgx.Conn
	patience time.Duration
	clock    clock.Clock
	holders  holders
}

// lockAndRun serializes migrations: the other processes wait, and then have nothing to do.
func (m *migration) lockAndRun(ctx context.Context, change func(*migration, context.Context) error) (err error) {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWithin)
		defer cancel()
		_, unlockErr := m.conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
		err = errors.Join(err, unlockErr)
	}()
	return change(m, ctx)
}

// migrate completes an interrupted Unmigrate before it migrates: what is left of the schema could not be migrated.
func (m *migration) migrate(ctx context.Context) error {
	var version int
	var interrupted bool
	if err := m.conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, "+unmigrateInterrupted).Scan(&version, &interrupted); err != nil {
		return err
	}
	if version < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %d: 13 or later is needed", version/10000)
	}
	if interrupted {
		if err := m.unmigrate(ctx); err != nil {
			return err
		}
	}
	if _, err := m.conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS hub_of_hubs"); err != nil {
		return err
	}
	return m.run(ctx)
}

// lock acquires the lock, and returns an error when it is not released within patience. It polls: CREATE INDEX CONCURRENTLY
// in the session that holds the lock would wait for a statement that waits for the lock.
func (m *migration) lock(ctx context.Context) error {
	for begun, waits := m.clock.Now(), false; ; waits = true {
		var locked bool
		err := m.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&locked)
		if err != nil || locked {
			return err
		}
		if m.clock.Since(begun) >= m.patience {
			return fmt.Errorf("another session has held the migrations' lock for %s: either a migration is running, then run this one "+
				"again later; or one went through a pooler, such as PgBouncer, that kept the lock, then end the session (SELECT "+
				"pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "+
				"AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (classid::bigint << 32 | objid::bigint) = %d) "+
				"and have DATABASE_URL name the server itself", m.patience, migrationLock)
		}
		if !waits {
			klog.FromContext(ctx).Info("Another migration of the database is running, waiting for its end", "atMost", m.patience)
		}
		if !retry.Sleep(ctx, m.clock, lockPoll) {
			return ctx.Err()
		}
	}
}

// run runs the migrations that the database does not have. When a lock is not granted in time, it goes on with the first one
// that is not complete.
func (m *migration) run(ctx context.Context) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	migrator, err := migrate.NewMigrator(ctx, m.conn, versionTable)
	if err != nil {
		return err
	}
	if err := migrator.LoadMigrations(files); err != nil {
		return err
	}
	reached, err := migrator.GetCurrentVersion(ctx)
	if err != nil {
		return err
	}
	changed := int(reached) < len(migrator.Migrations)
	if changed {
		err := m.whileLocked(ctx, func() (progressed bool, err error) {
			// the library does this after a migration that succeeded only
			if _, err := m.conn.Exec(ctx, "RESET ALL"); err != nil {
				return false, err
			}
			err = migrator.Migrate(ctx)
			version, versionErr := migrator.GetCurrentVersion(ctx)
			if progressed = versionErr == nil && version > reached; progressed {
				reached = version
			}
			return progressed, err
		})
		if err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("Migrated the database", "version", reached, "changed", changed)
	return nil
}

// whileLocked calls step again while it fails because a lock was not granted in time. Each progress renews the patience.
func (m *migration) whileLocked(ctx context.Context, step func() (progressed bool, err error)) error {
	for begun := m.clock.Now(); ; {
		progressed, err := step()
		if !isLocked(err) {
			return err
		}
		if progressed {
			begun = m.clock.Now()
		}
		if m.clock.Since(begun) >= m.patience {
			return fmt.Errorf("no lock within %s, held by %s: end that session, or wait for it, and run the command again: %w", m.patience, m.holders.last(), err)
		}
		pause := wait.Jitter(time.Second, 4)
		klog.FromContext(ctx).Info("A lock was not granted, trying again", "heldBy", m.holders.last(), "after", pause, "err", err)
		if !retry.Sleep(ctx, m.clock, pause) {
			return ctx.Err()
		}
	}
}

// isLocked reports whether the server ended a statement because of a lock of another session.
func isLocked(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == codeLockNotAvailable || refused.Code == codeDeadlock)
}

// holders are the sessions that a migration waited for last.
type holders struct {
	mu   sync.Mutex
	text string
}

func (h *holders) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text == "" {
		return "an unknown session"
	}
	return h.text
}

// holdersQuery returns the ids of the sessions that the session $1 waits for, and a text about them. It leaves out its own: building an index waits for the
// snapshot of every query, so also for this one's.
const holdersQuery = `
SELECT coalesce(string_agg(pid::text, ' ' ORDER BY pid), ''), coalesce(string_agg(format('pid %s of user %s since %s: %s', pid, usename, xact_start,
	regexp_replace(left(query, 200), '\s+', ' ', 'g')), '; ' ORDER BY pid), '')
FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1)) AND pid <> pg_backend_pid()`

// watch logs which sessions the session pid waits for, until ctx ends: a line when they are others than before, whatever they
// execute meanwhile. It has a connection of its own.
func (h *holders) watch(ctx context.Context, clock clock.Clock, config *pgx.ConnConfig, pid uint32) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return // the migration goes on, and cannot name them
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var logged string
	for retry.Sleep(ctx, clock, lockTimeout/8) {
		var pids, text string
		if err := conn.QueryRow(ctx, holdersQuery, int32(pid)).Scan(&pids, &text); err != nil {
			return
		}
		if pids == "" {
			continue
		}
		h.mu.Lock()
		h.text = text
		h.mu.Unlock()
		if pids != logged {
			logged = pids
			klog.FromContext(ctx).Info("Waiting for a lock", "heldBy", text)
		}
	}
}
