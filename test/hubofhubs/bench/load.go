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
	database, err := b.databaseSize(ctx)
	if err != nil {
		return err
	}
	disk, err := b.server.DiskUsed()
	if err != nil {
		return err
	}
	how := "by the reporter's way of writing"
	if b.options.Copy {
		how = "by COPY"
	}
	b.table.add("(a) load, "+how, "%s, %.0f rows/s; %d MB in the database, %d MB on the disk with what is written ahead",
		round(took), b.loadRate, database/1e6, disk/1e6)
	b.table.figure("loadSeconds", took.Seconds())
	b.table.figure("loadRowsPerSecond", b.loadRate)
	b.table.figure("databaseBytes", float64(database))
	b.table.figure("diskBytes", float64(disk))
	start = time.Now()
	if _, err := b.conn.Exec(ctx, "VACUUM (ANALYZE) status.compliance"); err != nil {
		return err
	}
	b.table.add("    VACUUM (ANALYZE) after it", "%s", round(time.Since(start)))
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
	if err := b.store.Heartbeat(ctx, hubName(hub)); err != nil {
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

func (b *bench) databaseSize(ctx context.Context) (size int64, err error) {
	err = b.conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size)
	return size, err
}
