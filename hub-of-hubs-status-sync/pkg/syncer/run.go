package syncer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Store is the database as the syncer needs it.
type Store interface {
	source
	program.Store
}

// Open opens the database of a URL, limited to a namespace, or empty for all. It
// makes no connection yet.
type Open func(ctx context.Context, url, namespace string) (Store, error)

// Run keeps the status true until ctx ends, which is no error.
func Run(ctx context.Context, opts *Options, open Open) error {
	return program.Run(ctx, program.Program[Store]{
		Options: &opts.Options,
		Open:    func(ctx context.Context, url string) (Store, error) { return open(ctx, url, opts.onlyNamespace()) },
		Metrics: collectors,
		Add:     func(mgr manager.Manager, store Store) error { return add(mgr, opts, store, clock.RealClock{}) },
	}, "interval", opts.Interval)
}

// add adds the feed and a syncer for each kind to a manager.
func add(mgr manager.Manager, opts *Options, store source, clock clock.WithTicker) error {
	feed := newFeed(store, clock, opts.interval, opts.ScanPeriod, opts.StaleAfter)
	shared := kindSyncer{
		store: store, live: mgr.GetAPIReader(), writer: mgr.GetClient(), caches: mgr.GetCache(), feed: feed,
		recorder: mgr.GetEventRecorder(Program), clock: clock, workers: opts.Workers,
	}
	kinds := map[status.Kind]*kindSyncer{}
	for _, entry := range status.Entries() {
		kinds[entry.Kind] = newKindSyncer(entry, shared)
		if err := mgr.Add(kinds[entry.Kind]); err != nil {
			return fmt.Errorf("add the syncer of %s: %w", entry.Kind, err)
		}
	}
	feed.add = func(key status.Key, since time.Time) {
		if kind, found := kinds[key.Kind]; found {
			kind.add(key, since)
		}
	}
	feed.round = func() {
		for _, kind := range kinds {
			kind.round()
		}
	}
	if err := mgr.Add(feed); err != nil {
		return fmt.Errorf("add the feed: %w", err)
	}
	return nil
}
