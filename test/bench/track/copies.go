package track

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// progressPeriod is how often a long wait tells how far it is.
const progressPeriod = 30 * time.Second

// Copies watches the copies. One question at a time.
type Copies struct {
	// Progress, when set, is called every half minute of a wait.
	Progress func(Outcome)

	mu      sync.Mutex
	tracker *tracker
	changed chan struct{} // closed when the present question is answered
	failed  chan struct{} // closed when the watch has ended
	err     error
}

// Watch starts to watch the ConfigMaps of a namespace by the mark that the key
// holds; ones without it are not looked at. It watches until ctx ends.
func Watch(ctx context.Context, client corev1client.ConfigMapInterface, key string) (*Copies, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the copies: %w", err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the copies: %w", err)
	}
	c := &Copies{tracker: newTracker(), changed: make(chan struct{}), failed: make(chan struct{})}
	now := time.Now()
	for i := range list.Items {
		c.tracker.see(list.Items[i].Name, list.Items[i].Data[key], now)
	}
	go c.follow(watcher, key)
	return c, nil
}

func (c *Copies) follow(watcher watch.Interface, key string) {
	defer close(c.failed)
	c.err = errors.New("the watch of the copies has ended")
	for event := range watcher.ResultChan() {
		at := time.Now()
		if event.Type == watch.Error {
			c.err = fmt.Errorf("watch the copies: %w", apierrors.FromObject(event.Object))
			return
		}
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			continue
		}
		mark := object.Data[key]
		if event.Type == watch.Deleted {
			mark = Absent
		}
		c.see(object.Name, mark, at)
	}
}

func (c *Copies) see(name, mark string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracker.see(name, mark, at)
	c.tell()
}

// tell ends the wait for the present question when it is answered.
func (c *Copies) tell() {
	if c.tracker.done() {
		select {
		case <-c.changed:
		default:
			close(c.changed)
		}
	}
}

// Await waits until every copy named has its mark, at most for the limit. Not
// to get there within it is no error: the outcome says how far they got.
func (c *Copies) Await(ctx context.Context, marks map[string]string, limit time.Duration) (Outcome, error) {
	c.mu.Lock()
	answered := make(chan struct{})
	c.changed = answered
	c.tracker.expect(marks)
	c.tell()
	c.mu.Unlock()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	progress := time.NewTicker(progressPeriod)
	defer progress.Stop()
	for {
		select {
		case <-answered:
			return c.outcome(), nil
		case <-timeout.C:
			return c.outcome(), nil
		case <-c.failed:
			return c.outcome(), c.err
		case <-ctx.Done():
			return c.outcome(), context.Cause(ctx)
		case <-progress.C:
			if c.Progress != nil {
				c.Progress(c.outcome())
			}
		}
	}
}

func (c *Copies) outcome() Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tracker.outcome()
}
