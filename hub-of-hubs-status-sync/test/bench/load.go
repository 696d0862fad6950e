package bench

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// load writes all rows, hub by hub.
func (b *bench) load(ctx context.Context) error {
	if !b.options.Copy {
		if err := b.loadHubs(ctx, "by the reporter's way of writing"); err != nil {
			return err
		}
		return b.tidy(ctx)
	}
	// as one who restores a large table does it
	indexes, err := b.dropIndexes(ctx)
	if err != nil {
		return err
	}
	if err := b.loadHubs(ctx, "by COPY, without indexes"); err != nil {
		return err
	}
	start := time.Now()
	for _, index := range indexes {
		if _, err := b.conn.Exec(ctx, index); err != nil {
			return fmt.Errorf("make an index again: %w", err)
		}
	}
	if err := b.tidy(ctx); err != nil {
		return err
	}
	return b.size(ctx, "(a) indexes and VACUUM (ANALYZE) after it", "indexSeconds", time.Since(start), "")
}

// dropIndexes drops the indexes of the largest table and returns the statements that make them again.
func (b *bench) dropIndexes(ctx context.Context) ([]string, error) {
	rows, err := b.conn.Query(ctx, `SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'status.compliance'::regclass ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	type index struct{ Name, Definition string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return nil, err
	}
	var definitions []string
	for _, index := range indexes {
		if _, err := b.conn.Exec(ctx, "DROP INDEX "+index.Name); err != nil {
			return nil, fmt.Errorf("drop %s: %w", index.Name, err)
		}
		definitions = append(definitions, index.Definition)
	}
	_, err = b.conn.Exec(ctx, "ALTER TABLE status.compliance SET (autovacuum_enabled = false)")
	return definitions, err
}

// tidy does at once what the database would do later, beside what is measured.
func (b *bench) tidy(ctx context.Context) error {
	for _, sql := range []string{"ALTER TABLE status.compliance RESET (autovacuum_enabled)", "VACUUM (ANALYZE) status.compliance"} {
		if _, err := b.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// loadHubs writes all rows and returns how long that took.
func (b *bench) loadHubs(ctx context.Context, how string) error {
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(b.options.Writers)
	start := time.Now()
	var done atomic.Int64
	for hub := range b.options.Hubs {
		group.Go(func() error {
			if err := b.loadHub(loading, hub); err != nil {
				return err
			}
			if n := done.Add(1); n%10 == 0 {
				fmt.Fprintf(b.table.progress, "%s  %d of %d hubs are loaded\n", time.Now().UTC().Format(time.TimeOnly), n, b.options.Hubs)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(start)
	b.loadRate = perSecond(b.options.rows(), took)
	b.table.figure("loadRowsPerSecond", b.loadRate)
	return b.size(ctx, "(a) load, "+how, "loadSeconds", took, fmt.Sprintf(", %.0f rows/s", b.loadRate))
}

// size adds how long something took and how large the database is after it.
func (b *bench) size(ctx context.Context, what, figure string, took time.Duration, note string) error {
	var database int64
	if err := b.conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&database); err != nil {
		return err
	}
	disk, err := b.server.DiskUsed()
	if err != nil {
		return err
	}
	b.table.add(what, "%s%s; %d MB in the database, %d MB on the disk with what is written ahead", round(took), note, database/1e6, disk/1e6)
	b.table.figure(figure, took.Seconds())
	b.table.figure("databaseBytes", float64(database))
	b.table.figure("diskBytes", float64(disk))
	return nil
}

func (b *bench) loadHub(ctx context.Context, hub int) error {
	size, err := b.server.DiskUsed()
	if err != nil {
		return err
	}
	if size > b.options.MaxDisk {
		return fmt.Errorf("the database's directory has %d bytes, --max-disk=%d", size, b.options.MaxDisk)
	}
	if b.options.unmigrated() {
		return b.copyHub(ctx, hub)
	}
	if err := b.store.Heartbeat(ctx, hubName(hub), 10*time.Second); err != nil {
		return err
	}
	if b.options.Copy {
		return b.copyHub(ctx, hub)
	}
	_, err = b.store.Apply(ctx, hubName(hub), b.rows.whole(hub))
	return err
}

// copyHub copies a hub's rows into the table, past the reporter; the log of changes is kept all the same.
func (b *bench) copyHub(ctx context.Context, hub int) error {
	conn, err := pgx.Connect(ctx, b.owner)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	pipe := &copySource{rows: b.rows, hub: hub, next: -1}
	const copyIn = "COPY status.compliance (id, cluster_name, leaf_hub_name, error, compliance) FROM STDIN"
	if _, err := conn.PgConn().CopyFrom(ctx, pipe, copyIn); err != nil {
		return fmt.Errorf("copy the rows of %s: %w", hubName(hub), err)
	}
	return nil
}

// copySource is a hub's rows in COPY's text format; nothing in them has to be escaped.
type copySource struct {
	rows      *rows
	hub, next int
	pending   []byte
}

// Read implements io.Reader.
func (c *copySource) Read(into []byte) (int, error) {
	for len(c.pending) < len(into) {
		c.next++
		if c.next == c.rows.clusters*len(c.rows.ids) {
			c.next--
			break
		}
		entry := c.rows.entry(c.hub, c.next%c.rows.clusters, c.next/c.rows.clusters)
		c.pending = fmt.Appendf(c.pending, "%s\t%s\t%s\tnone\t%s\n", entry.PolicyID, entry.Cluster, hubName(c.hub), entry.Compliance)
	}
	if len(c.pending) == 0 {
		return 0, io.EOF
	}
	n := copy(into, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}
