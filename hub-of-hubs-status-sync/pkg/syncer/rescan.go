package syncer

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// rescan is the state of the sweeps that replace the change log while the database has none.
type rescan struct {
	// reason is why the database has no change log, with the remedy; empty if it has one.
	reason string
	// begun is when the last sweep began, ended when its keys were synced; zero until they are.
	begun, ended time.Time
	// scans is the number of sweeps of which the keys were synced, since the reason changed.
	scans int
	// lastRound is when a sweep last counted as a round.
	lastRound time.Time
}

// setReason records whether the database has a change log, and logs when that or the reason changed.
func (f *feed) setReason(ctx context.Context, reason string) {
	value := 0.0
	if reason == "" {
		value = 1
	}
	changeLog.WithLabelValues().Set(value)
	if reason == f.rescan.reason {
		return
	}
	f.rescan = rescan{reason: reason}
	if reason == "" {
		klog.FromContext(ctx).Info("Following the change log instead of scanning all objects")
		return
	}
	klog.FromContext(ctx).Info("Scanning all objects periodically, because the database has no change log", "reason", reason)
}

// rescanDue reports whether all objects have to be scanned again: the keys of the last sweep are synced, and as much time
// has passed since then as that took. So the database is read half of the time at most. The caller waits for the interval.
// After the period they are scanned in any case: while other writers change many objects, the queues may never be empty.
func (f *feed) rescanDue(ctx context.Context, now time.Time) bool {
	if f.rescan.begun.IsZero() {
		return true
	}
	if f.rescan.ended.IsZero() {
		last, idle := f.keys.idle()
		if !idle {
			return now.Sub(f.rescan.begun) >= f.period
		}
		f.endRescan(ctx, last)
	}
	return now.Sub(f.rescan.ended) >= f.rescan.ended.Sub(f.rescan.begun)
}

// endRescan records that the last sweep's keys are synced. It logs the duration of the second sweep, because the first one
// reads and writes the objects as well, and with -v=2 that of each. The last sync is that of a sweep before if none of the
// keys was synced, for example because there are none.
func (f *feed) endRescan(ctx context.Context, last time.Time) {
	if last.Before(f.rescan.begun) {
		f.rescan.ended = f.rescan.begun
		return
	}
	f.rescan.ended = last
	f.rescan.scans++
	verbosity := 2
	if f.rescan.scans == 2 {
		verbosity = 0
	}
	klog.FromContext(ctx).V(verbosity).Info("Scanned all objects; with the change log only changed ones are read, within a second of the change",
		"objects", f.scan.total, "duration", last.Sub(f.rescan.begun).Round(time.Millisecond).String())
}

// endRound tells the syncers that every key was requested once. Without a change log that happens much more often than once
// per period, and only one sweep per period counts.
func (f *feed) endRound() {
	now := f.clock.Now()
	if f.rescan.reason != "" && now.Sub(f.rescan.lastRound) < f.period {
		return
	}
	f.rescan.lastRound = now
	f.keys.endRound()
}
