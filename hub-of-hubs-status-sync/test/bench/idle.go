package bench

import (
	"context"
	"fmt"
	"time"
)

// settle is how long the database's sessions may keep what they have counted to themselves (PGSTAT_MAX_INTERVAL), and
// more.
const settle = 65 * time.Second

// counters are read before and after the idle time.
type counters struct {
	requests, written float64
	transactions      int64
	changes           int64
	syncCPU, database time.Duration
}

func (b *bench) count(ctx context.Context) (c counters, err error) {
	if c.requests, err = b.sync.sum(ctx, "rest_client_requests_total"); err != nil {
		return c, err
	}
	if c.written, err = b.sync.sum(ctx, "hub_of_hubs_status_sync_objects_written_total"); err != nil {
		return c, err
	}
	if c.syncCPU, err = cpu(b.sync.command.Process.Pid); err != nil {
		return c, err
	}
	if c.database, err = cpuOfFamily(b.server.PID()); err != nil {
		return c, err
	}
	err = b.conn.QueryRow(ctx, `SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted
FROM pg_stat_database WHERE datname = current_database()`).Scan(&c.transactions, &c.changes)
	return c, err
}

// idle measures what it costs when nothing happens.
func (b *bench) idle(ctx context.Context) error {
	// its own tidying after the flips would count
	for _, sql := range []string{"ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"} {
		if _, err := b.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := b.count(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := pause(ctx, b.options.Idle); err != nil {
		return err
	}
	after, err := b.count(ctx)
	if err != nil {
		return err
	}
	minutes := time.Since(start).Minutes()
	b.table.add("(a) idle, per minute: requests to the API server / objects written", "%.1f / %.1f",
		(after.requests-before.requests)/minutes, (after.written-before.written)/minutes)
	// one of the transactions is the question before this one
	b.table.add("(a) idle, per minute: transactions / rows changed in the database", "%.1f / %.1f",
		float64(after.transactions-before.transactions-1)/minutes, float64(after.changes-before.changes)/minutes)
	b.table.add("(a) idle, per minute: CPU of sync / of the database", "%s / %s",
		perMinute(after.syncCPU-before.syncCPU, minutes), perMinute(after.database-before.database, minutes))
	b.table.figure("idleTransactionsPerMinute", float64(after.transactions-before.transactions-1)/minutes)
	b.table.figure("idleWritesPerMinute", (after.written-before.written)/minutes)
	return b.memory()
}

// memory returns how much memory the programs use, and used at most.
func (b *bench) memory() error {
	now, peak, err := memory(b.sync.command.Process.Pid)
	if err != nil {
		return err
	}
	database, err := memoryOfFamily(b.server.PID())
	if err != nil {
		return err
	}
	b.table.add("(a) memory after all this: sync now / at most / the database with its shared buffers", "%d MB / %d MB / %d MB",
		now/1e6, peak/1e6, database/1e6)
	b.table.figure("syncPeakBytes", float64(peak))
	b.table.figure("databaseMemoryBytes", float64(database))
	return nil
}

func perMinute(d time.Duration, minutes float64) string {
	return fmt.Sprintf("%.0f ms", float64(d.Milliseconds())/minutes)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
