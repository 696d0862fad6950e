package floor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

const (
	// writers is how many writes are on their way at most, as many as the
	// benchmark has writers on the hub.
	writers = 16
	// backlog is how many changes of one writer may wait before the watch does.
	backlog = 1024
	// timeout bounds one request.
	timeout = 30 * time.Second
)

// Options set what is copied where.
type Options struct {
	// Hub and Managed configure the clients of the two API servers.
	Hub, Managed *rest.Config
	// Source is the namespace on the hub, Target that of the copies.
	Source, Target string
	// Selector selects ConfigMaps of the hub by label; empty selects all.
	Selector string
}

// Run copies until ctx ends or something fails.
func Run(ctx context.Context, options Options) error {
	sources, err := client(options.Hub, options.Source)
	if err != nil {
		return err
	}
	copies, err := client(options.Managed, options.Target)
	if err != nil {
		return err
	}
	known, changes, resourceVersion, err := compare(ctx, sources, copies, options.Selector)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	queues := startWriters(ctx, group, copies, options.Target, known)
	group.Go(func() error {
		for _, c := range changes {
			if err := queues.put(ctx, c); err != nil {
				return err
			}
		}
		changes = nil
		return follow(ctx, sources, options.Selector, resourceVersion, queues)
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// compare reads both sides once; what it lists is not kept.
func compare(ctx context.Context, sources, copies *configMaps, selector string) (map[string]version, []change, string, error) {
	listed, err := sources.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, nil, "", fmt.Errorf("list the ConfigMaps of the hub: %w", err)
	}
	existing, err := copies.List(ctx, metav1.ListOptions{LabelSelector: ownerLabel + "=" + owner})
	if err != nil {
		return nil, nil, "", fmt.Errorf("list the copies: %w", err)
	}
	known, changes := plan(listed.Items, existing.Items)
	return known, changes, listed.ResourceVersion, nil
}

// follow hands on every change after the resource version.
func follow(ctx context.Context, sources *configMaps, selector, resourceVersion string, queues queues) error {
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return sources.Watch(ctx, options)
		},
	})
	if err != nil {
		return fmt.Errorf("watch the hub: %w", err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("watch the hub: %w", apierrors.FromObject(event.Object))
		}
		source, ok := event.Object.(*corev1.ConfigMap)
		if !ok || source.Name == excluded {
			continue
		}
		c := change{name: source.Name, source: source}
		if event.Type == watch.Deleted {
			c.source = nil
		}
		if err := queues.put(ctx, c); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New("watch the hub: the watch has ended")
}

// queues are the writers' inputs.
type queues []chan change

func (q queues) put(ctx context.Context, c change) error {
	select {
	case q[shard(c.name, len(q))] <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func startWriters(ctx context.Context, group *errgroup.Group, copies *configMaps, namespace string, known map[string]version) queues {
	all := make(queues, writers)
	for i := range all {
		w := writer{copies: copies, namespace: namespace, known: map[string]version{}}
		for name, v := range known {
			if shard(name, writers) == i {
				w.known[name] = v
			}
		}
		all[i] = make(chan change, backlog)
		group.Go(func() error { return w.run(ctx, all[i]) })
	}
	return all
}
