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

// bulk creates many at once.
func (m *measurement) bulk(ctx context.Context) error {
	setting := fmt.Sprintf("%s ConfigMaps by %d writers", report.Count(m.Bulk), writers)
	m.say("bulk rate, %s", setting)
	started := time.Now()
	marks, err := m.hub.create(ctx, names("bulk", 0, m.Bulk)...)
	if err != nil {
		return err
	}
	loaded := time.Since(started)
	outcome, err := m.copies.Await(ctx, marks, m.Limit)
	if err != nil {
		return err
	}
	m.add(report.BulkRate, setting, "", "per s", rate(outcome, started), shortfall(outcome, m.Limit))
	m.add("bulk load, the hub's own", setting, "", "per s", figures.PerSecond(float64(m.Bulk), loaded), "")
	return nil
}

// rate counts to the last copy that came, however many that were.
func rate(outcome track.Outcome, started time.Time) float64 {
	return figures.PerSecond(float64(outcome.Right), outcome.Last.Sub(started))
}
