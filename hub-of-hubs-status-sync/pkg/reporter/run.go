package reporter

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Store is the database as the reporter needs it.
type Store interface {
	status.Writer
	program.Store
}

// Open opens the database of a URL. It makes no connection yet.
type Open func(ctx context.Context, url string) (Store, error)

// Run reports until ctx ends, which is no error.
func Run(ctx context.Context, opts *Options, open Open) error {
	return program.Run(ctx, program.Program[Store]{
		Options: &opts.Options,
		Open:    open,
		Cache:   cache.Options{DefaultTransform: trim},
		Metrics: collectors,
		Add:     func(mgr manager.Manager, store Store) error { return add(mgr, opts, store, clock.RealClock{}) },
	}, "leafHub", opts.LeafHubName)
}

// add adds the reporter to a manager.
func add(mgr manager.Manager, opts *Options, store status.Writer, clock clock.WithTicker) error {
	held, err := newCaches(mgr, opts.WatchNamespaces)
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("make a client of the leaf hub: %w", err)
	}
	r := newReporter(opts, store, held, clock)
	r.alive = func(ctx context.Context) error {
		return server.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	r.watcher = newWatcher(held, clock, r.changed)
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("add the reporter: %w", err)
	}
	return nil
}
