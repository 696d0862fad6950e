package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// oneRow flips one row at a time.
func (b *bench) oneRow(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2))
	before, err := b.work()
	if err != nil {
		return err
	}
	var writes, total []time.Duration
	for range b.options.Flips {
		hub, cluster, policy := random.IntN(b.options.Hubs), random.IntN(b.options.Clusters), random.IntN(b.options.Policies)
		entry := b.flipOne(hub, cluster, policy)
		start := time.Now()
		_, err := b.store.Apply(ctx, hubName(hub), status.Batch{Compliance: []status.ComplianceEntry{entry}})
		if err != nil {
			return err
		}
		writes = append(writes, time.Since(start))
		last, err := b.await(ctx)
		if err != nil {
			return err
		}
		total = append(total, last.Sub(start))
	}
	spent, err := b.since(before)
	if err != nil {
		return err
	}
	b.table.latencies("(a) one row flipped until its CR is right", "oneRow", total,
		fmt.Sprintf("the row's write %s / %s", round(percentile(writes, 50)), round(percentile(writes, 99))), spent)
	return nil
}

// flipOne flips the expected row, or the next cluster's if that one must not change, and returns it.
func (b *bench) flipOne(hub, cluster, policy int) status.ComplianceEntry {
	if !b.rows.flip(hub, cluster, policy) {
		cluster = (cluster + 1) % b.options.Clusters
		b.rows.flip(hub, cluster, policy)
	}
	return b.rows.entry(hub, cluster, policy)
}

// oneHub flips every row of a hub, which says all that it has.
func (b *bench) oneHub(ctx context.Context) error {
	return b.flip(ctx, "(a) one hub flipped", "oneHub", b.options.rows(), 1)
}

func (b *bench) many(ctx context.Context) error {
	if b.options.FlipRows == 0 {
		return nil
	}
	return b.flip(ctx, "(a) many rows flipped", "manyRows", b.options.FlipRows, b.options.Hubs)
}

func (b *bench) flip(ctx context.Context, what, figure string, limit, hubs int) error {
	batches, flipped := b.rows.flipMany(limit, hubs)
	before, err := b.work()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(b.options.Writers)
	start := time.Now()
	for hub, batch := range batches {
		group.Go(func() error {
			_, err := b.store.Apply(ctx, hubName(hub), batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	written := time.Since(start)
	last, err := b.await(ctx)
	if err != nil {
		return err
	}
	spent, err := b.since(before)
	if err != nil {
		return err
	}
	b.flipRate = perSecond(flipped, written)
	b.table.add(fmt.Sprintf("%s (%d rows): written / all CRs right", what, flipped), "%s (%.0f rows/s) / %s; %s",
		round(written), b.flipRate, round(last.Sub(start)), spent)
	b.table.figure(figure+"RowsPerSecond", b.flipRate)
	b.table.figure(figure+"Seconds", last.Sub(start).Seconds())
	return nil
}
