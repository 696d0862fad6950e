package syncer

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const (
	// scanPage is how many keys one query of a scan returns.
	scanPage = 1000
	// longestSweepPause is the longest time until everything is looked at again,
	// when the database says again and again that it cannot tell what changed.
	longestSweepPause = 5 * time.Minute
)

// scanState is where the spread scan is.
type scanState struct {
	after       status.Key
	total, seen int
	carry       float64
}

// sweepState says whether everything has to be looked at without delay, and when that was
// done.
type sweepState struct {
	wanted bool
	strain strain
}

// sweepIfDue has everything looked at, if that is wanted: at once, and when it is
// wanted again and again after a growing pause.
func (f *feed) sweepIfDue(ctx context.Context) (swept bool, err error) {
	if !f.sweep.wanted || f.clock.Now().Before(f.sweep.strain.until()) {
		return false, nil
	}
	if err := f.scanAll(ctx); err != nil {
		return false, err
	}
	f.sweep.wanted, f.hubs.moved = false, nil
	f.sweep.strain = f.sweep.strain.again(f.clock.Now(), f.interval, longestSweepPause)
	return true, nil
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

func (f *feed) scanSome(ctx context.Context) error {
	share, carry := scanShare(f.scan.total, f.interval, f.period, f.scan.carry)
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
		f.round()
	} else {
		f.scan.after = keys[len(keys)-1]
	}
	return keys, nil
}
