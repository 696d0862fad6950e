package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// logged returns the query of a kind's keys in the log of changes. Rows of compliance and spec name the object by its id,
// the others by its namespace and name.
func (a aggregated) logged() string {
	switch {
	case a.only != "":
		return fmt.Sprintf(`SELECT '%s'::text AS kind, l.key, l.age FROM log l WHERE l.source = '%s' AND l.key = '%s'`,
			a.kind, a.rows, a.only)
	case a.rows == complianceTable:
		return fmt.Sprintf(`SELECT '%s'::text AS kind, l.key, l.age FROM log l WHERE l.source IN ('%s', 'spec.%s')`,
			a.kind, a.rows, a.spec)
	}
	return fmt.Sprintf(`SELECT '%[1]s'::text AS kind, l.key, l.age FROM log l WHERE l.source = 'spec.%[2]s'
UNION ALL
SELECT '%[1]s', s.id::text, l.age FROM log l JOIN spec.%[2]s s ON hub_of_hubs.subject('%[2]s', s.payload) = l.key
WHERE l.source = '%[3]s' AND NOT s.deleted`, a.kind, a.spec, a.rows)
}

// changesQuery is one statement, so the rows that it reads and the snapshot that it returns are consistent. A cursor is
// server/timeline/database/log/snapshot. The log does not have every change since a cursor when
//   - the cursor is of another server or of an abandoned timeline,
//   - the cursor is of another database, or of another log (a restore into the same server: a copy of a database is another
//     database with the same tables, a dump creates the tables anew),
//   - the cursor's snapshot is in the future (the same server, restored), or
//   - a row was trimmed that the cursor's snapshot did not see.
//
// The timeline is that of the write-ahead log. The control file has a new one only after the first checkpoint, minutes after
// a standby was promoted. A standby, which is rejected, has none.
//
// Rows of the log with a transaction id in the future are ignored: they are of the server whose dump was restored here.
// The rules and their alternatives: docs/design.md#change-feed.
func changesQuery() string {
	kinds := make([]string, len(aggregatedKinds))
	for i, kind := range aggregatedKinds {
		kinds[i] = kind.logged()
	}
	return `
WITH server AS MATERIALIZED (
	SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
		CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
		(SELECT oid FROM pg_database WHERE datname = current_database()), 'hub_of_hubs.change_log'::regclass::oid, '') AS id
), since AS MATERIALIZED (
	SELECT CASE WHEN starts_with($1, server.id) THEN substr($1, length(server.id) + 1)::pg_snapshot END AS seen
	FROM server
), log AS MATERIALIZED (
	SELECT l.source, l.key, extract(epoch FROM clock_timestamp() - min(l.changed_at))::float8 AS age
	FROM hub_of_hubs.change_log l, since
	WHERE l.xid >= pg_snapshot_xmin(since.seen) AND NOT pg_visible_in_snapshot(l.xid, since.seen)
		AND l.xid < pg_snapshot_xmax(pg_current_snapshot())
	GROUP BY l.source, l.key
), changed AS (
	SELECT kind, key, max(age) AS age FROM (
` + strings.Join(kinds, "\nUNION ALL\n") + `
	) k WHERE key <> '' GROUP BY kind, key
)
SELECT server.id || pg_current_snapshot()::text,
	since.seen IS NULL
		OR pg_snapshot_xmax(since.seen) > pg_snapshot_xmax(pg_current_snapshot())
		OR EXISTS (SELECT FROM log WHERE key = '')
		OR EXISTS (SELECT FROM hub_of_hubs.change_log_state s
			WHERE pg_snapshot_xmax(s.trimmed) <= pg_snapshot_xmax(pg_current_snapshot())
			AND (pg_snapshot_xmax(since.seen) < pg_snapshot_xmax(s.trimmed)
				OR EXISTS (SELECT FROM pg_snapshot_xip(since.seen) x WHERE pg_visible_in_snapshot(x, s.trimmed)))),
	coalesce(changed.kind, ''), coalesce(changed.key, ''), coalesce(changed.age, 0), pg_is_in_recovery()
FROM server CROSS JOIN since LEFT JOIN changed ON true`
}

// Changes implements status.ChangeLog.
func (s *Store) Changes(ctx context.Context, since status.Cursor) (status.Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	layout, err := s.current(ctx)
	if err == nil && layout.unlogged != "" {
		layout, err = s.detect(ctx)
	}
	if err != nil {
		return status.Changes{}, s.wrap(err, "read what changed")
	}
	if layout.unlogged != "" {
		return status.Changes{Unlogged: layout.unlogged}, nil
	}
	rows, err := s.pool.Query(ctx, s.changes, string(since))
	if err != nil {
		return status.Changes{}, s.wrap(err, "read what changed")
	}
	defer rows.Close()
	var changes status.Changes
	for rows.Next() {
		var next, kind, key string
		var age float64
		var standby bool
		if err := rows.Scan(&next, &changes.Reset, &kind, &key, &age, &standby); err != nil {
			return status.Changes{}, s.wrap(err, "read what changed")
		}
		if standby {
			return status.Changes{}, s.wrap(errStandby, "read what changed")
		}
		changes.Next = status.Cursor(next)
		if key != "" {
			changes.Changed = append(changes.Changed, status.Change{
				Key: status.Key{Kind: status.Kind(kind), ID: key},
				Age: time.Duration(age * float64(time.Second)),
			})
		}
	}
	if err := rows.Err(); err != nil {
		return status.Changes{}, s.wrap(err, "read what changed")
	}
	return changes, nil
}

// Trim implements status.ChangeLog.
func (s *Store) Trim(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	// the user's defaults may be others
	writing := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, s.pool, writing, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT hub_of_hubs.trim_change_log()").Scan(&more)
	})
	return more, s.wrap(err, "trim the log of changes")
}
