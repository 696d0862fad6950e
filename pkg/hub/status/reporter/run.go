package reporter

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
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
	held, err := cacheOptions()
	if err != nil {
		return err
	}
	return program.Run(ctx, program.Program[Store]{
		Options: &opts.Options,
		Open:    open,
		Cache:   held,
		Metrics: collectors,
		Add:     func(mgr manager.Manager, store Store) error { return add(mgr, opts, store, clock.RealClock{}) },
	}, "leafHub", opts.LeafHubName)
}

// cacheOptions keep out of the watch what is not reported.
func cacheOptions() (cache.Options, error) {
	notCopied, err := labels.NewRequirement(labelRootPolicy, selection.DoesNotExist, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("select the policies: %w", err)
	}
	policy := &unstructured.Unstructured{}
	policy.SetGroupVersionKind(kinds[status.KindPolicy])
	return cache.Options{
		DefaultTransform: trim,
		ByObject: map[client.Object]cache.ByObject{
			policy: {Label: labels.NewSelector().Add(*notCopied)},
		},
	}, nil
}

// add adds the reporter to a manager.
func add(mgr manager.Manager, opts *Options, store status.Writer, clock clock.WithTicker) error {
	server, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("make a client of the leaf hub: %w", err)
	}
	r := newReporter(opts, store, mgr.GetCache(), clock)
	r.alive = func(ctx context.Context) error {
		return server.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	r.watcher = newWatcher(mgr.GetCache(), clock, r.changed)
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("add the reporter: %w", err)
	}
	return nil
}
