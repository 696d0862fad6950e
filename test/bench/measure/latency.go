package measure

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/figures"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
)

// misses is after how many in a row that never came no more is tried.
const misses = 3

// warmUp makes changes that do not count: API servers that have just started
// answer more slowly at first, and connections are still being opened.
func (m *measurement) warmUp(ctx context.Context) error {
	for range max(1, m.Changes/10) {
		marks, err := m.hub.change(ctx, changed)
		if err != nil {
			return err
		}
		if _, err := m.copies.Await(ctx, marks, m.Patience); err != nil {
			return err
		}
	}
	return nil
}

// round is how many changes or deletions a subject makes before the next subject's
// turn.
const round = 10

// changes writes one ConfigMap again and again, each time when the copy has
// followed.
func (m *measurement) changes(ctx context.Context, setting string) error {
	m.say("change latency, %s", setting)
	return m.latency(ctx, report.ChangeLatency, setting, m.Changes, func(int) (map[string]string, error) {
		return m.hub.change(ctx, changed)
	})
}

// deletions deletes ConfigMaps, each when the copy of the one before has gone.
func (m *measurement) deletions(ctx context.Context) error {
	if err := m.fill(ctx, "deleted", m.Deletions); err != nil {
		return err
	}
	setting := report.Count(m.Deletions) + " deletions"
	m.say("deletion latency, %s", setting)
	all := names("deleted", 0, m.Deletions)
	done := 0
	err := m.latency(ctx, report.DeletionLatency, setting, m.Deletions, func(i int) (map[string]string, error) {
		done = i + 1
		return m.hub.remove(ctx, all[i])
	})
	if err != nil {
		return err
	}
	_, err = m.hub.remove(ctx, all[done:]...) // not in the way of what follows
	return err
}

// latency writes one after the other and times the copies.
func (m *measurement) latency(ctx context.Context, metric, setting string, n int, write func(i int) (map[string]string, error)) error {
	var samples []time.Duration
	missed, inARow := 0, 0
	for i := 0; i < n && inARow < misses; i++ {
		if i > 0 && i%round == 0 {
			if err := m.turn.pass(ctx); err != nil {
				return err
			}
		}
		started := time.Now()
		marks, err := write(i)
		if err != nil {
			return err
		}
		outcome, err := m.copies.Await(ctx, marks, m.Patience)
		if err != nil {
			return err
		}
		if !outcome.Done() {
			missed, inARow = missed+1, inARow+1
			continue
		}
		inARow = 0
		samples = append(samples, outcome.Last.Sub(started))
	}
	note := ""
	if missed > 0 {
		note = fmt.Sprintf("%s not seen within %s", report.Count(missed), m.Patience)
		if inARow == misses {
			note += "; gave up"
		}
	}
	for _, p := range []float64{50, 90, 99} {
		m.add(metric, setting, fmt.Sprintf("p%.0f", p), "ms", figures.Percentile(samples, p), note)
	}
	return nil
}
