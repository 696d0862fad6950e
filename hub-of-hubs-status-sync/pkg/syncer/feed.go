package syncer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// leastGap is the least time between two looks at what changed, so that a flood of
// notifications is no flood of queries.
const leastGap = 50 * time.Millisecond

// source is what the feed asks.
type source interface {
	status.ChangeLog
	status.Reader
	status.HeartbeatReader
}

// feed tells the kinds' syncers which keys have to be looked at: those whose rows
// changed, when the database says so and at every interval; those of a leaf hub
// that became stale or came back; and all of them one by one, spread over the
// scan's period, so that nothing that was missed stays wrong.
type feed struct {
	store      source
	clock      clock.WithTicker
	interval   time.Duration
	period     time.Duration
	staleAfter time.Duration
	add        func(key status.Key, since time.Time)
	// round is called when everything that the database has was looked at once.
	round func()
	// ready is closed when the database has answered for the first time.
	ready chan struct{}
	poke  chan struct{}

	hubs hubs
	// last is when the heartbeats were asked for; zero: they are due.
	last   time.Time
	cursor status.Cursor
	scan   scanState
	sweep  sweepState
}

func newFeed(store source, clock clock.WithTicker, interval, period, staleAfter time.Duration) *feed {
	return &feed{store: store, clock: clock, interval: interval, period: period, staleAfter: staleAfter, round: func() {},
		ready: make(chan struct{}), poke: make(chan struct{}, 1), hubs: hubs{doubted: map[status.Key]bool{}}}
}

// Start feeds until ctx ends. It is a Runnable.
func (f *feed) Start(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.listen(ctx) })

	program.Loop{Clock: f.clock, Wake: f.poke, Gap: leastGap, Longest: f.longestPause(),
		Failed:    func(err error, again bool) { f.report(ctx, err, again) },
		Recovered: func() { klog.FromContext(ctx).Info("The database answers again") },
	}.Run(ctx, f.turn)
	return nil
}

func (f *feed) longestPause() time.Duration { return max(f.interval, time.Second) }

// turn looks at what changed. After a failure the heartbeats are due, too.
func (f *feed) turn(ctx context.Context) (next time.Time, err error) {
	now := f.clock.Now()
	onTime := now.Sub(f.last) >= f.interval
	if err := f.look(ctx, onTime); err != nil {
		f.last = time.Time{}
		return now, err
	}
	if onTime {
		f.last = now
	}
	return f.next(), nil
}

// next is when to look again, if nothing is heard.
func (f *feed) next() time.Time {
	next := f.last.Add(f.interval)
	if len(f.hubs.moved) > 0 {
		next = earlier(next, f.hubs.strain.until())
	}
	if f.sweep.wanted {
		next = earlier(next, f.sweep.strain.until())
	}
	return next
}

func (f *feed) report(ctx context.Context, err error, again bool) {
	failures.WithLabelValues(feedKind, reasonDatabase).Inc()
	if again {
		klog.FromContext(ctx).V(2).Info("The database still does not answer", "err", err)
		return
	}
	klog.FromContext(ctx).Error(err, "The database does not answer; what is written stays, and it is tried again")
}

// look asks what changed, and on time also for the heartbeats and the next part
// of the scan. What changed is asked for whatever becomes of the rest.
func (f *feed) look(ctx context.Context, onTime bool) error {
	var beat error
	if onTime {
		beat = f.beat(ctx)
	}
	swept, err := f.changes(ctx)
	if err := errors.Join(beat, err); err != nil {
		return err
	}
	ofHubs := f.lookAtHubs(ctx)
	if onTime && !swept {
		return errors.Join(ofHubs, f.scanSome(ctx))
	}
	return ofHubs
}

// changes asks what changed, and says whether everything was looked at.
func (f *feed) changes(ctx context.Context) (swept bool, err error) {
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	changes, err := f.store.Changes(ask, f.cursor)
	cancel()
	if err != nil {
		return false, fmt.Errorf("ask what changed: %w", err)
	}
	now := f.clock.Now()
	for _, change := range changes.Changed {
		f.add(change.Key, now.Add(-change.Age))
	}
	if changes.Reset {
		f.sweep.wanted = true
	}
	if swept, err = f.sweepIfDue(ctx); err != nil {
		return false, err
	}
	f.cursor = changes.Next
	return swept, nil
}

// listen has the database tell when something changed, again and again.
func (f *feed) listen(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		start := f.clock.Now()
		err := f.store.Listen(ctx, func() {
			select {
			case f.poke <- struct{}{}:
			default:
			}
		})
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).V(2).Info("The database no longer tells what changes; it is asked at every interval", "err", err)
		if f.clock.Since(start) > f.longestPause() {
			// It listened, or was slow to fail: not one of several failures in a row.
			failures = 1
		}
		if !retry.Sleep(ctx, f.clock, program.Delay(failures, f.longestPause())) {
			return
		}
	}
}
