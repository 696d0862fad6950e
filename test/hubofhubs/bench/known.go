package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// knownReads reads every policy by its id as the known syncer does each 5 s: with the indexes that were there, one query
// each. What is changed for that is rolled back.
func knownReads(ctx context.Context, conn *pgx.Conn, ids []string) (whole, each time.Duration, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is closed after it
	if _, err := tx.Exec(ctx, "DROP INDEX status.compliance_policy_leaf_hub_cluster_idx"); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for _, id := range ids {
		rows, err := tx.Query(ctx, `SELECT cluster_name, leaf_hub_name, compliance FROM status.compliance
WHERE id = $1 ORDER BY leaf_hub_name, cluster_name`, id)
		if err != nil {
			return 0, 0, err
		}
		for rows.Next() { // as the known way, it reads all rows
		}
		if err := rows.Err(); err != nil {
			return 0, 0, err
		}
	}
	whole = time.Since(start)
	return whole, whole / time.Duration(len(ids)), nil
}

// knownUpdates updates rows one by one, each in its own transaction, and returns how many it updated in a second. It
// stops after half a minute.
func knownUpdates(ctx context.Context, conn *pgx.Conn, table string, r *rows, count int) (float64, error) {
	start, done := time.Now(), 0
	for done < count && time.Since(start) < 30*time.Second {
		entry := r.entry(done%r.hubs, 1+done/r.hubs%max(1, r.clusters-1), done%len(r.ids))
		_, err := conn.Exec(ctx, "UPDATE "+table+" SET compliance = CASE compliance WHEN 'compliant' THEN "+
			"'non_compliant' ELSE 'compliant' END::status.compliance_type WHERE id = $1 AND leaf_hub_name = $2 AND cluster_name = $3",
			entry.PolicyID, hubName(done%r.hubs), entry.Cluster)
		if err != nil {
			return 0, fmt.Errorf("update a row: %w", err)
		}
		done++
	}
	return perSecond(done, time.Since(start)), nil
}

// knownTrigger makes a table as the known way has it where the published 95 rows a second come from: as many rows as
// there, its key, and for each row that changes another update of all rows of its cluster, which no index leads to.
const knownTrigger = `
CREATE SCHEMA known;
CREATE TABLE known.compliance AS SELECT *, NULL::uuid AS cluster_id FROM status.compliance LIMIT 135000;
ALTER TABLE known.compliance ADD PRIMARY KEY (id, cluster_name, leaf_hub_name);
ANALYZE known.compliance;
CREATE FUNCTION known.touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE known.compliance SET cluster_id = (SELECT NULL::uuid FROM status.managed_clusters m
		WHERE m.payload -> 'metadata' ->> 'name' = NEW.cluster_name AND m.leaf_hub_name = NEW.leaf_hub_name LIMIT 1)
	WHERE cluster_name = NEW.cluster_name AND leaf_hub_name = NEW.leaf_hub_name;
	RETURN NEW;
END $$;
CREATE TRIGGER touch AFTER UPDATE ON known.compliance FOR EACH ROW WHEN (pg_trigger_depth() < 1)
	EXECUTE FUNCTION known.touch()`

// known measures the known way on the same data.
func (b *bench) known(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.owner)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	whole, each, err := knownReads(ctx, conn, b.rows.ids)
	if err != nil {
		return err
	}
	b.table.add("(b) known way: every policy read by its id, once", "%s, %s each; repeated every 5 s", round(whole), round(each))
	withLog, err := knownUpdates(ctx, conn, "status.compliance", b.rows, b.options.KnownUpdates)
	if err != nil {
		return err
	}
	b.table.add("    old writers on our tables: a row per UPDATE, log kept", "%.0f rows/s", withLog)
	if _, err := conn.Exec(ctx, "ALTER TABLE status.compliance DISABLE TRIGGER USER"); err != nil {
		return err
	}
	plain, err := knownUpdates(ctx, conn, "status.compliance", b.rows, b.options.KnownUpdates)
	if err != nil {
		return err
	}
	b.table.add("(b) known way: a row per UPDATE, no trigger", "%.0f rows/s", plain)
	if _, err := conn.Exec(ctx, knownTrigger); err != nil {
		return err
	}
	slow, err := knownUpdates(ctx, conn, "known.compliance", b.rows, b.options.KnownUpdates/20)
	if err != nil {
		return err
	}
	b.table.add("(b) known way: a row per UPDATE and its trigger", "%.0f rows/s, in a table of %d rows", slow, min(135_000, b.options.rows()))
	b.table.add("ratio of rows written, load: to a row per UPDATE / with its trigger", "%.0f / %.0f", b.loadRate/plain, b.loadRate/slow)
	b.table.add("ratio of rows written, flip: to a row per UPDATE / with its trigger", "%.0f / %.0f", b.flipRate/plain, b.flipRate/slow)
	return nil
}
