package bench

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
)

// scansSeen is how many scans are measured, and how many rows are flipped meanwhile.
const scansSeen = 3

// scans measures the scans of a database that was not migrated.
func (b *bench) scans(ctx context.Context) error {
	before, err := b.work()
	if err != nil {
		return err
	}
	earlier, err := b.sync.scanTimes()
	if err != nil {
		return err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Patience, fmt.Errorf("no %d scans within %s", scansSeen, b.options.Patience))
	defer cancel()
	times := earlier
	for len(times) < len(earlier)+scansSeen {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if times, err = b.sync.scanTimes(); err != nil {
			return err
		}
	}
	spent, err := b.since(before)
	if err != nil {
		return err
	}
	times = times[len(earlier):]
	b.table.add("(a) one scan of the database that was not migrated, p50", "%s (%d in %s); %s",
		round(percentile(times, 50)), len(times), round(time.Since(start)), spent)
	b.table.figure("scanSeconds", percentile(times, 50).Seconds())
	return b.bridgeFlips(ctx, "(a) one row flipped until its CR is right, by scans", "scanOneRow", scansSeen)
}

// bridgeFlips flips rows of the last policy, one at a time, by the transport bridge's statements.
func (b *bench) bridgeFlips(ctx context.Context, what, figure string, count int) error {
	bridge, err := original.NewBridge(ctx, b.server, b.owner)
	if err != nil {
		return err
	}
	defer bridge.Close(context.WithoutCancel(ctx))
	policy := len(b.rows.ids) - 1
	var total []time.Duration
	for i := range count {
		hub, cluster := i%b.options.Hubs, (i*b.options.Clusters/count)%b.options.Clusters
		entry := b.flipOne(hub, cluster, policy)
		start := time.Now()
		err := bridge.Send(ctx, original.Policies{LeafHub: hubName(hub),
			Update: []original.Cluster{{Policy: entry.PolicyID, Name: entry.Cluster, Compliance: entry.Compliance}}})
		if err != nil {
			return err
		}
		name := b.rows.names[policy]
		last, err := b.awaitOnly(ctx, map[string]int{name: b.rows.expected[name]})
		if err != nil {
			return err
		}
		total = append(total, last.Sub(start))
	}
	b.table.latencies(what, figure, total)
	return nil
}

// originalScan measures the original's own statement for each policy.
func (b *bench) originalScan(ctx context.Context) error {
	whole, each, err := readAll(ctx, b.conn, b.rows.ids, true)
	if err != nil {
		return err
	}
	b.table.add("(b) known way: every policy read by its id, once", "%s, %s each; repeated every 5 s", round(whole), round(each))
	b.table.figure("knownReadAllSeconds", whole.Seconds())
	return nil
}
