package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

const (
	// pollGap is the minimum time between two polls, so that many notifications
	// cause few queries.
	pollGap = 50 * time.Millisecond
	// scanPage is how many keys one query of a scan returns.
	scanPage = 1000
	// maxHubs is the number of changed leaf hubs above which a sweep of all keys
	// replaces one query for the keys of each hub.
	maxHubs = 50
	// maxHubRetry limits the back-off of the query for a hub's keys while it fails.
	maxHubRetry = 5 * time.Minute
	// maxSweepDelay limits the back-off of sweeps while they are needed repeatedly.
	maxSweepDelay = 5 * time.Minute
	// trimPeriod and trimGap are the times between two trims of the change log; the
	// latter while more old rows are left.
	trimPeriod, trimGap = time.Minute, time.Second
)

// source is the part of the store that the feed reads.
type source interface {
	status.ChangeLog
	status.Reader
	status.HeartbeatReader
}

// feed requests keys. It is a Runnable. It requests
//
//   - a key whose rows changed, when the database notifies, and at every interval;
//   - the keys of a leaf hub that became stale or recovered;
//   - every key once per period, spread over it (scan), so that a missed change is
//     corrected;
//   - every key at once (sweep), if the change log cannot tell what changed;
//   - every key periodically (rescan), if the database has no change log.
//
// The keys of one changed hub are queried, instead of sweeping all keys, because a
// sweep reads every row of the database. Among hundreds of hubs one changes every
// few minutes: sweeps would either load the database all the time, or, with their
// back-off, show the next hub as stale minutes late.
type feed struct {
	store    source
	keys     *keys
	clock    clock.WithTicker
	interval time.Duration
	period   time.Duration
	// notified wakes the feed when the database sends a notification.
	notified retry.Signal

	// lastBeat is when the heartbeats were last read; zero means that they are due.
	lastBeat time.Time
	// shownHubs are the hubs that have metrics, with their last heartbeats.
	shownHubs map[string]time.Time
	cursor    status.Cursor
	// changedHubs are the hubs whose keys have to be requested.
	changedHubs []string
	hubBackoff  plan.Backoff
	// sweepDue is set while a sweep is needed.
	sweepDue     bool
	sweepBackoff plan.Backoff
	scan         scanState
	nextTrim     time.Time
	rescan       rescan
}

// scanState is the position of the scan.
type scanState struct {
	after status.Key
	// total is the number of keys in the previous round, seen in this one.
	total, seen int
	carry       float64
}

func newFeed(store source, keys *keys, clock clock.WithTicker, interval, period time.Duration) *feed {
	return &feed{store: store, keys: keys, clock: clock, interval: interval, period: period, notified: retry.NewSignal(),
		nextTrim: clock.Now().Add(trimPeriod)}
}

// Start requests keys until ctx ends.
func (f *feed) Start(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.listen(ctx) })

	program.Loop{Clock: f.clock, Wake: f.notified, Gap: pollGap, Longest: f.maxRetry(),
		Failed:    func(err error, again bool) { f.failed(ctx, err, again) },
		Recovered: func() { klog.FromContext(ctx).Info("Database answers again") },
	}.Run(ctx, f.poll)
	return nil
}

func (f *feed) maxRetry() time.Duration { return max(f.interval, time.Second) }

// failed counts and logs a failed poll.
func (f *feed) failed(ctx context.Context, err error, again bool) {
	failures.WithLabelValues(allKinds, reasonDatabase).Inc()
	if again {
		klog.FromContext(ctx).V(2).Info("Polling the database failed again, retrying", "err", err)
		return
	}
	klog.FromContext(ctx).Error(err, "Polling the database failed, retrying; written statuses stay as they are")
}

// listen sets notified whenever the database sends a notification, and reconnects
// with a back-off.
func (f *feed) listen(ctx context.Context) {
	for failures := 1; ; failures++ {
		start := f.clock.Now()
		err := f.store.Listen(ctx, f.notified.Notify)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).V(2).Info("Listening for notifications failed, polling at every interval", "err", err)
		if f.clock.Since(start) > f.maxRetry() {
			// The connection worked for a while: the first failure in a row.
			failures = 1
		}
		if !retry.Sleep(ctx, f.clock, program.Delay(failures, f.maxRetry())) {
			return
		}
	}
}

// poll polls the database, and returns when the next poll is due without a
// notification. After a failure the heartbeats are due again.
func (f *feed) poll(ctx context.Context) (next time.Time, err error) {
	now := f.clock.Now()
	onTime := now.Sub(f.lastBeat) >= f.interval
	if err := f.pollOnce(ctx, onTime); err != nil {
		f.lastBeat = time.Time{}
		return now, err
	}
	if onTime {
		f.lastBeat = now
	}
	f.trim(ctx)
	return f.next(), nil
}

// trim trims the change log when that is due. A failure is not one of the poll: it
// affects no status.
func (f *feed) trim(ctx context.Context) {
	if f.clock.Now().Before(f.nextTrim) {
		return
	}
	if f.rescan.reason != "" {
		// There is no log to trim.
		f.nextTrim = f.clock.Now().Add(trimPeriod)
		return
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	more, err := f.store.Trim(limited)
	cancel()
	wait := trimPeriod
	if more {
		wait = trimGap
	}
	f.nextTrim = f.clock.Now().Add(wait)
	if err != nil && ctx.Err() == nil {
		failures.WithLabelValues(allKinds, reasonDatabase).Inc()
		klog.FromContext(ctx).Error(err, "Trimming the change log failed, retrying", "after", wait)
	}
}

func (f *feed) next() time.Time {
	next := earlier(f.lastBeat.Add(f.interval), f.nextTrim)
	if len(f.changedHubs) > 0 {
		next = earlier(next, f.hubBackoff.Until())
	}
	if f.sweepDue {
		next = earlier(next, f.sweepBackoff.Until())
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// pollOnce reads the change log; at the interval (onTime) also the heartbeats and
// the next part of the scan. A failure of the heartbeats does not prevent the
// request of changed keys.
func (f *feed) pollOnce(ctx context.Context, onTime bool) error {
	var beat error
	if onTime {
		beat = f.readHeartbeats(ctx)
	}
	swept, err := f.readChanges(ctx, onTime)
	if err := errors.Join(beat, err); err != nil {
		return err
	}
	err = f.requestHubs(ctx)
	if onTime && !swept && f.rescan.reason == "" {
		err = errors.Join(err, f.scanShare(ctx))
	}
	return err
}

// readHeartbeats reads the heartbeats and publishes which leaf hubs are stale.
func (f *feed) readHeartbeats(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	heartbeats, err := f.store.Heartbeats(limited)
	if err != nil {
		return fmt.Errorf("read the heartbeats: %w", err)
	}
	stale, changed := f.keys.publish(heartbeats)
	f.showHubs(heartbeats, stale)
	for _, hub := range changed {
		_, found := stale[hub]
		klog.FromContext(ctx).Info("Leaf hub changed", "leafHub", hub, "stale", found)
		if !slices.Contains(f.changedHubs, hub) {
			f.changedHubs = append(f.changedHubs, hub)
		}
	}
	return nil
}

// showHubs sets the metrics of each leaf hub, and deletes those of the hubs that no
// longer have a heartbeat, because they were retired.
func (f *feed) showHubs(heartbeats status.Heartbeats, stale map[string]time.Time) {
	for hub := range f.shownHubs {
		if _, found := heartbeats.Last[hub]; !found {
			staleHub.DeleteLabelValues(hub)
			beatAge.DeleteLabelValues(hub)
		}
	}
	f.shownHubs = heartbeats.Last
	for hub, last := range heartbeats.Last {
		value := 0.0
		if _, found := stale[hub]; found {
			value = 1
		}
		staleHub.WithLabelValues(hub).Set(value)
		beatAge.WithLabelValues(hub).Set(heartbeats.Now.Sub(last).Seconds())
	}
}

// readChanges requests the keys whose rows changed since the cursor. It reports
// whether a sweep requested all keys.
func (f *feed) readChanges(ctx context.Context, onTime bool) (swept bool, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	changes, err := f.store.Changes(limited, f.cursor)
	cancel()
	if err != nil {
		return false, fmt.Errorf("read the change log: %w", err)
	}
	now := f.clock.Now()
	for _, change := range changes.Changed {
		f.keys.request(change.Key, now.Add(-change.Age))
	}
	if changes.Reset {
		f.sweepDue = true
	}
	f.setReason(ctx, changes.Unlogged)
	if changes.Unlogged != "" {
		f.sweepDue, f.sweepBackoff = onTime && f.rescanDue(ctx, now), plan.Backoff{}
	}
	if swept, err = f.sweep(ctx); err != nil {
		return false, err
	}
	if swept {
		f.rescan.begun, f.rescan.ended = now, time.Time{}
	}
	f.cursor = changes.Next
	return swept, nil
}

// requestHubs requests the keys of the changed leaf hubs, for about one interval.
// The remaining hubs wait for the next poll, so that they do not delay the keys
// whose rows changed.
func (f *feed) requestHubs(ctx context.Context) error {
	if f.rescan.reason != "" {
		// The next rescan requests them all.
		f.changedHubs = nil
		return nil
	}
	if len(f.changedHubs) > maxHubs {
		f.changedHubs, f.sweepDue = nil, true
		return nil
	}
	begun := f.clock.Now()
	if begun.Before(f.hubBackoff.Until()) {
		return nil
	}
	for len(f.changedHubs) > 0 && f.clock.Since(begun) < f.interval {
		hub := f.changedHubs[0]
		f.changedHubs = f.changedHubs[1:]
		if err := f.requestHub(ctx, hub); err != nil {
			f.changedHubs = append(f.changedHubs, hub)
			f.hubBackoff = f.hubBackoff.Done(f.clock.Now(), f.interval, maxHubRetry)
			return err
		}
		f.hubBackoff = plan.Backoff{}
	}
	return nil
}

func (f *feed) requestHub(ctx context.Context, hub string) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	all, err := f.store.KeysOfHub(limited, hub)
	if err != nil {
		return fmt.Errorf("read the keys of leaf hub %s: %w", hub, err)
	}
	for _, key := range all {
		f.keys.request(key, time.Time{})
	}
	return nil
}

// sweep requests all keys if a sweep is due: at once, and with a back-off while
// sweeps are due repeatedly. It reports whether it did.
func (f *feed) sweep(ctx context.Context) (swept bool, err error) {
	if !f.sweepDue || f.clock.Now().Before(f.sweepBackoff.Until()) {
		return false, nil
	}
	f.scan = scanState{}
	for more := true; more; {
		if more, err = f.scanNext(ctx, scanPage); err != nil {
			return false, err
		}
	}
	f.sweepDue, f.changedHubs = false, nil
	f.sweepBackoff = f.sweepBackoff.Done(f.clock.Now(), f.interval, maxSweepDelay)
	return true, nil
}

// scanShare requests the share of all keys that is due in one interval.
func (f *feed) scanShare(ctx context.Context) error {
	share, carry := plan.ScanShare(f.scan.total, f.interval, f.period, f.scan.carry)
	f.scan.carry = carry
	for share > 0 {
		limit := min(share, scanPage)
		if _, err := f.scanNext(ctx, limit); err != nil {
			return err
		}
		share -= limit
	}
	return nil
}

// scanNext requests the next keys of the scan. After the last key it ends the
// round, begins the next one, and returns false.
func (f *feed) scanNext(ctx context.Context, limit int) (more bool, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	page, err := f.store.Scan(limited, f.scan.after, limit)
	if err != nil {
		return false, fmt.Errorf("scan the keys: %w", err)
	}
	for _, key := range page {
		f.keys.request(key, time.Time{})
	}
	f.scan.seen += len(page)
	if len(page) < limit {
		f.scan.total, f.scan.seen, f.scan.after = max(f.scan.seen, 1), 0, status.Key{}
		f.endRound()
		return false, nil
	}
	f.scan.after = page[len(page)-1]
	return true, nil
}
