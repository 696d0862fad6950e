package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
)

const (
	// moveWriters transport bridges write without pause, bundles of bundleRows rows.
	moveWriters = 4
	bundleRows  = 2000
	// moveFlips is how many rows are flipped before and after the migration. Each takes up to a minute beside the writers.
	moveFlips = 3
)

// The phases of a move, in which the writers are measured.
const (
	before = iota
	during
	after
	phases
)

// writers are the transport bridges that write without pause.
type writers struct {
	phase atomic.Int32
	// stopping ends each writer after its bundle: the server would go on with a statement whose client has gone.
	stopping atomic.Bool

	mu      sync.Mutex
	longest [phases]time.Duration
	rows    [phases]int
	failed  []error
}

// note records a bundle that began in a phase.
func (w *writers) note(began int32, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.phase.Load()
	for phase := began; phase <= ended; phase++ {
		w.longest[phase] = max(w.longest[phase], took)
	}
	w.rows[ended] += bundleRows
	if err != nil {
		w.failed = append(w.failed, err)
	}
}

// write writes bundles of a share of the hubs until the writers are stopping. It leaves the last policy alone.
func (w *writers) write(ctx context.Context, bridge *original.Bridge, b *bench, share int) {
	random := rand.New(rand.NewPCG(uint64(share), 3))
	for !w.stopping.Load() && ctx.Err() == nil {
		hub := share + moveWriters*random.IntN((b.options.Hubs-share+moveWriters-1)/moveWriters)
		batch := original.Policies{LeafHub: hubName(hub)}
		for range bundleRows {
			entry := b.rows.entry(hub, random.IntN(b.options.Clusters), random.IntN(b.options.Policies-1))
			compliance := "compliant"
			if random.IntN(20) == 0 {
				compliance = "non_compliant"
			}
			batch.Update = append(batch.Update, original.Cluster{Policy: entry.PolicyID, Name: entry.Cluster, Compliance: compliance})
		}
		began, start := w.phase.Load(), time.Now()
		err := errors.Join(bridge.Send(ctx, batch), bridge.Beat(ctx, hubName(hub)))
		w.note(began, time.Since(start), err)
	}
}

// start starts the writers. The function that it returns ends them.
func (w *writers) start(ctx context.Context, b *bench) (stop func(), err error) {
	var group sync.WaitGroup
	stop = func() { w.stopping.Store(true); group.Wait() }
	for share := range moveWriters {
		bridge, err := original.NewBridge(ctx, b.server, b.owner)
		if err != nil {
			stop()
			return nil, err
		}
		group.Go(func() {
			defer bridge.Close(context.WithoutCancel(ctx))
			w.write(ctx, bridge, b, share)
		})
	}
	return stop, nil
}

// move migrates the database while the writers write and the sync scans it.
func (b *bench) move(ctx context.Context) error {
	w := &writers{}
	stop, err := w.start(ctx, b)
	if err != nil {
		return err
	}
	err = b.moveUnder(ctx, w)
	stop()
	b.table.add("    writers: longest bundle of 2,000 rows before / during / after the migration", "%s / %s / %s",
		round(w.longest[before]), round(w.longest[during]), round(w.longest[after]))
	b.table.add("    writers: rows written before / during / after, errors", "%d / %d / %d, %d errors",
		w.rows[before], w.rows[during], w.rows[after], len(w.failed))
	b.table.figure("writerStallSeconds", w.longest[during].Seconds())
	b.table.figure("writerErrors", float64(len(w.failed)))
	if err := errors.Join(err, errors.Join(w.failed...)); err != nil {
		return err
	}
	return b.converge(ctx)
}

func (b *bench) moveUnder(ctx context.Context, w *writers) error {
	if err := b.bridgeFlips(ctx, "(a) before: one row flipped until its CR is right, by scans", "moveBefore", moveFlips); err != nil {
		return err
	}
	w.phase.Store(during)
	start := time.Now()
	if err := b.migrate(ctx); err != nil {
		return err
	}
	took := time.Since(start)
	w.phase.Store(after)
	b.table.add("(a) migrate, under load", "%s", round(took))
	b.table.figure("migrateSeconds", took.Seconds())

	user, err := url.Parse(b.reader)
	if err != nil {
		return err
	}
	if _, err := b.conn.Exec(ctx, "GRANT hub_of_hubs_status_reader TO "+pgx.Identifier{user.User.Username()}.Sanitize()); err != nil {
		return err
	}
	start = time.Now()
	if err := b.followsLog(ctx); err != nil {
		return err
	}
	b.table.add("(a) from the migration's end and GRANT until the sync follows the log", "%s", round(time.Since(start)))
	if err := b.bridgeFlips(ctx, "(a) the first row flipped by log", "moveFirst", 1); err != nil {
		return err
	}
	return b.bridgeFlips(ctx, "(a) after: one row flipped until its CR is right, by log", "moveAfter", moveFlips)
}

// migrate runs the migration in its own process.
func (b *bench) migrate(ctx context.Context) error {
	command := exec.CommandContext(ctx, b.options.Sync, "migrate")
	command.Env = append(os.Environ(), "DATABASE_URL="+b.owner)
	command.Stdout, command.Stderr = b.table.progress, b.table.progress
	if err := command.Run(); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// followsLog waits until the sync has noticed the log of changes.
func (b *bench) followsLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Patience, fmt.Errorf("the sync did not follow the log within %s", b.options.Patience))
	defer cancel()
	for {
		follows, err := b.sync.sum(ctx, "hub_of_hubs_status_sync_change_log")
		if err != nil || follows == 1 {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// converge waits until every Policy is what its rows say, after the writers ended.
func (b *bench) converge(ctx context.Context) error {
	start := time.Now()
	rows, err := b.conn.Query(ctx, "SELECT id::text, count(*) FROM status.compliance WHERE compliance = 'non_compliant' GROUP BY 1")
	if err != nil {
		return err
	}
	counts := map[string]int{}
	var id string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&id, &count}, func() error { counts[id] = count; return nil }); err != nil {
		return err
	}
	for i, id := range b.rows.ids {
		b.rows.expected[b.rows.names[i]] = counts[id]
	}
	if _, err := b.await(ctx); err != nil {
		return err
	}
	b.table.add("(a) after the writers' end, until every CR is what the rows say", "%s", round(time.Since(start)))
	return nil
}
