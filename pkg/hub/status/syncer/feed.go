package syncer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
)

const (
	// leastGap is the least time between two looks at what changed, so that a
	// flood of notifications is no flood of queries.
	leastGap = 50 * time.Millisecond
	// scanPage is how many keys one query of a scan returns.
	scanPage = 1000
)

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
	// ready is closed when the database has answered for the first time.
	ready chan struct{}
	poke  chan struct{}

	// hubs are the stale leaf hubs, with their last heartbeat, of the last look.
	hubs  map[string]time.Time
	begun bool

	// last is when the heartbeats were asked for; zero: they are due.
	last   time.Time
	cursor status.Cursor
	scan   scanState
}

// scanState is where the spread scan is.
type scanState struct {
	after       status.Key
	total, seen int
	carry       float64
}

func newFeed(store source, clock clock.WithTicker, interval, period, staleAfter time.Duration) *feed {
	return &feed{store: store, clock: clock, interval: interval, period: period, staleAfter: staleAfter,
		ready: make(chan struct{}), poke: make(chan struct{}, 1)}
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
	if err := f.look(ctx, onTime, f.interval); err != nil {
		f.last = time.Time{}
		return now, err
	}
	if onTime {
		f.last = now
	}
	return f.last.Add(f.interval), nil
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
// of the scan.
func (f *feed) look(ctx context.Context, onTime bool, elapsed time.Duration) error {
	if onTime {
		if err := f.beat(ctx); err != nil {
			return err
		}
	}
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	changes, err := f.store.Changes(ask, f.cursor)
	cancel()
	if err != nil {
		return fmt.Errorf("ask what changed: %w", err)
	}
	now := f.clock.Now()
	for _, change := range changes.Changed {
		f.add(change.Key, now.Add(-change.Age))
	}
	if changes.Reset {
		if err := f.scanAll(ctx); err != nil {
			return err
		}
	}
	f.cursor = changes.Next
	if onTime && !changes.Reset {
		return f.scanSome(ctx, elapsed)
	}
	return nil
}

// beat asks for the heartbeats, and has the keys of a leaf hub looked at that
// became stale or came back.
func (f *feed) beat(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	heartbeats, err := f.store.Heartbeats(ask)
	if err != nil {
		return fmt.Errorf("ask for the heartbeats: %w", err)
	}
	next := staleHubs(heartbeats, f.staleAfter)
	changed := changedHubs(f.hubs, next)
	for hub := range heartbeats.Last {
		value := 0.0
		if _, stale := next[hub]; stale {
			value = 1
		}
		staleHub.WithLabelValues(hub).Set(value)
	}
	if !f.begun {
		f.hubs, f.begun = next, true
		close(f.ready)
		return nil // Every key is looked at after this anyway.
	}
	var keys []status.Key
	for _, hub := range changed {
		_, stale := next[hub]
		klog.FromContext(ctx).Info("Leaf hub changed", "leafHub", hub, "stale", stale)
		ofHub, err := f.store.KeysOfHub(ask, hub)
		if err != nil {
			return fmt.Errorf("ask what leaf hub %s reports: %w", hub, err)
		}
		keys = append(keys, ofHub...)
	}
	// Only now: if a question failed, the hubs still count as changed.
	f.hubs = next
	for _, key := range keys {
		f.add(key, time.Time{})
	}
	return nil
}

func (f *feed) scanAll(ctx context.Context) error {
	f.scan = scanState{}
	for {
		keys, err := f.page(ctx, scanPage)
		if err != nil {
			return err
		}
		if len(keys) < scanPage {
			return nil
		}
	}
}

func (f *feed) scanSome(ctx context.Context, elapsed time.Duration) error {
	share, carry := scanShare(f.scan.total, elapsed, f.period, f.scan.carry)
	f.scan.carry = carry
	for share > 0 {
		limit := min(share, scanPage)
		if _, err := f.page(ctx, limit); err != nil {
			return err
		}
		share -= limit
	}
	return nil
}

// page has the next keys of the scan looked at; after the last it begins anew.
func (f *feed) page(ctx context.Context, limit int) ([]status.Key, error) {
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	keys, err := f.store.Scan(ask, f.scan.after, limit)
	if err != nil {
		return nil, fmt.Errorf("scan the keys: %w", err)
	}
	for _, key := range keys {
		f.add(key, time.Time{})
	}
	f.scan.seen += len(keys)
	if len(keys) < limit {
		f.scan.total, f.scan.seen, f.scan.after = max(f.scan.seen, 1), 0, status.Key{}
	} else {
		f.scan.after = keys[len(keys)-1]
	}
	return keys, nil
}

// listen has the database tell when something changed, again and again.
func (f *feed) listen(ctx context.Context) {
	backoff := program.Backoff(f.longestPause())
	for ctx.Err() == nil {
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
			backoff = program.Backoff(f.longestPause())
		}
		if !program.Sleep(ctx, f.clock, backoff.Step()) {
			return
		}
	}
}
