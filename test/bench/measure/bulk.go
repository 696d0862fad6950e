package measure

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/figures"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/track"
)

// fill creates ConfigMaps and waits for their copies; it measures nothing.
func (m *measurement) fill(ctx context.Context, kind string, n int) error {
	if n == 0 {
		return nil
	}
	m.say("%s ConfigMaps more", report.Count(n))
	marks, err := m.hub.create(ctx, names(kind, 0, n)...)
	if err != nil {
		return err
	}
	outcome, err := m.copies.Await(ctx, marks, m.Limit)
	if note := shortfall(outcome, m.Limit); err == nil && note != "" {
		m.say("  %s: what follows is measured while it catches up", note)
	}
	return err
}

// bulkRounds is in how many turns the ConfigMaps of the bulk rate are created.
const bulkRounds = 10

// bulk creates many at once. The rates are those of all rounds together.
func (m *measurement) bulk(ctx context.Context) error {
	setting := fmt.Sprintf("%s ConfigMaps by %d writers", report.Count(m.Bulk), writers)
	m.say("bulk rate, %s", setting)
	var loaded, copied time.Duration
	var all track.Outcome
	for i := range bulkRounds {
		first, next := i*m.Bulk/bulkRounds, (i+1)*m.Bulk/bulkRounds
		started := time.Now()
		marks, err := m.hub.create(ctx, names("bulk", first, next-first)...)
		if err != nil {
			return err
		}
		loaded += time.Since(started)
		outcome, err := m.copies.Await(ctx, marks, m.Limit)
		if err != nil {
			return err
		}
		copied += max(0, outcome.Last.Sub(started))
		all.Right, all.Total = all.Right+outcome.Right, all.Total+outcome.Total
		if !outcome.Done() {
			break
		}
		if err := m.turn.pass(ctx); err != nil {
			return err
		}
	}
	m.add(report.BulkRate, setting, "", "per s", rate(all, copied), shortfall(all, m.Limit))
	m.add("bulk load, the hub's own", setting, "", "per s", figures.PerSecond(float64(all.Total), loaded), "")
	return nil
}

// rate counts the copies that came within the time, however many that were.
func rate(outcome track.Outcome, took time.Duration) float64 {
	return figures.PerSecond(float64(outcome.Right), took)
}
