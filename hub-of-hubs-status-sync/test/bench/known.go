package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// readAll reads every policy by its id, one query each, as the known syncer does each 5 s; without our index if so told:
// that is rolled back. It reads for a minute at most; the whole is then what it would take at that pace.
func readAll(ctx context.Context, conn *pgx.Conn, ids []string, ourIndex bool) (whole, each time.Duration, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is closed after it
	if !ourIndex {
		if _, err := tx.Exec(ctx, "DROP INDEX status.compliance_policy_leaf_hub_cluster_idx"); err != nil {
			return 0, 0, err
		}
	}
	start, done := time.Now(), 0
	for ; done < len(ids) && time.Since(start) < time.Minute; done++ {
		rows, err := tx.Query(ctx, `SELECT cluster_name, leaf_hub_name, compliance FROM status.compliance
WHERE id = $1 ORDER BY leaf_hub_name, cluster_name`, ids[done])
		if err != nil {
			return 0, 0, err
		}
		for rows.Next() { // as the known way, it reads all rows
		}
		if err := rows.Err(); err != nil {
			return 0, 0, err
		}
	}
	each = time.Since(start) / time.Duration(done)
	return each * time.Duration(len(ids)), each, nil
}

// rowKey names a row.
type rowKey struct{ ID, LeafHub, Cluster string }

// someRows returns rows from all over a table.
func someRows(ctx context.Context, conn *pgx.Conn, table string, count, of int) ([]rowKey, error) {
	// pages are drawn, and a page has about a hundred rows: twenty times what is asked for is enough, and quick
	percent := min(100, 20*100*float64(count)/float64(of))
	rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT id::text, leaf_hub_name, cluster_name
FROM %s TABLESAMPLE SYSTEM (%f) ORDER BY md5(cluster_name || id) LIMIT %d`, table, percent, count))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[rowKey])
}

// knownUpdates updates rows one by one, each in its own transaction, and returns how many it updated in a second. It
// stops after half a minute.
func knownUpdates(ctx context.Context, conn *pgx.Conn, table string, count, of int) (float64, error) {
	keys, err := someRows(ctx, conn, table, count, of)
	if err != nil {
		return 0, fmt.Errorf("choose rows of %s: %w", table, err)
	}
	start, done := time.Now(), 0
	for ; done < len(keys) && time.Since(start) < 30*time.Second; done++ {
		key := keys[done]
		tag, err := conn.Exec(ctx, "UPDATE "+table+" SET compliance = CASE compliance WHEN 'compliant' THEN "+
			"'non_compliant' ELSE 'compliant' END::status.compliance_type WHERE id = $1 AND leaf_hub_name = $2 AND cluster_name = $3",
			key.ID, key.LeafHub, key.Cluster)
		if err != nil {
			return 0, fmt.Errorf("update a row of %s: %w", table, err)
		}
		if tag.RowsAffected() != 1 {
			return 0, fmt.Errorf("update a row of %s: it updated %d", table, tag.RowsAffected())
		}
	}
	return perSecond(done, time.Since(start)), nil
}

// knownRows is how many rows there were where the published figures come from.
const knownRows = 135_000

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
	ours, each, err := readAll(ctx, conn, b.rows.ids, true)
	if err != nil {
		return err
	}
	b.table.add("(a) every policy read by its id, once, by our index", "%s, %s each", round(ours), round(each))
	whole, each, err := readAll(ctx, conn, b.rows.ids, false)
	if err != nil {
		return err
	}
	b.table.add("(b) known way: every policy read by its id, once", "%s, %s each; repeated every 5 s", round(whole), round(each))
	b.table.add("ratio of the time to read every policy", "%.1f", whole.Seconds()/ours.Seconds())
	b.table.figure("readAllSeconds", ours.Seconds())
	b.table.figure("knownReadAllSeconds", whole.Seconds())
	withLog, err := knownUpdates(ctx, conn, "status.compliance", b.options.KnownUpdates, b.options.rows())
	if err != nil {
		return err
	}
	b.table.add("    old writers on our tables: a row per UPDATE, log kept", "%.0f rows/s", withLog)
	if _, err := conn.Exec(ctx, "ALTER TABLE status.compliance DISABLE TRIGGER USER"); err != nil {
		return err
	}
	plain, err := knownUpdates(ctx, conn, "status.compliance", b.options.KnownUpdates, b.options.rows())
	if err != nil {
		return err
	}
	b.table.add("(b) known way: a row per UPDATE, no trigger", "%.0f rows/s", plain)
	if _, err := conn.Exec(ctx, knownTrigger); err != nil {
		return err
	}
	slow, err := knownUpdates(ctx, conn, "known.compliance", b.options.KnownUpdates/20, min(knownRows, b.options.rows()))
	if err != nil {
		return err
	}
	b.table.add("(b) known way: a row per UPDATE and its trigger", "%.0f rows/s, in a table of %d rows", slow, min(knownRows, b.options.rows()))
	b.table.add("ratio of rows written, load: to a row per UPDATE / with its trigger", "%.0f / %.0f", b.loadRate/plain, b.loadRate/slow)
	b.table.add("ratio of rows written, flip: to a row per UPDATE / with its trigger", "%.0f / %.0f", b.flipRate/plain, b.flipRate/slow)
	b.table.figure("knownUpdateRowsPerSecond", plain)
	b.table.figure("knownTriggerRowsPerSecond", slow)
	return nil
}
