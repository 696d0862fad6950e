package reporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
)

const (
	// batchObjects is how many objects are written at once, and batchClusters
	// how many clusters of policies: enough to be fast, and not so many that one
	// transaction holds up others for long.
	batchObjects, batchClusters = 2000, 20000
	// applyTimeout bounds one batch, requestTimeout one other question.
	applyTimeout, requestTimeout = 2 * time.Minute, 10 * time.Second
	// longestPause is the longest pause while the database is away.
	longestPause = 10 * time.Second
	// noticeWithin is how soon a kind is noticed that has become known without a
	// change.
	noticeWithin = time.Second
)

// reporter writes a leaf hub's rows. It is a Runnable.
type reporter struct {
	leafHub   string
	store     status.Writer
	objects   client.Reader
	watcher   *watcher
	clock     clock.WithTicker
	interval  time.Duration
	heartbeat time.Duration
	resync    time.Duration
	// alive says whether the leaf hub's API server answers.
	alive func(context.Context) error

	mu       sync.Mutex
	dirty    map[status.ObjectRef]bool
	poke     chan struct{}
	reported reported

	// nextCompare is when to compare everything, and compared which kinds were
	// known as a whole when that was done last.
	nextCompare time.Time
	compared    map[status.Kind]bool
}

// changed notes that an object has to be looked at.
func (r *reporter) changed(ref status.ObjectRef) {
	r.mu.Lock()
	r.dirty[ref] = true
	pending.Set(float64(len(r.dirty)))
	r.mu.Unlock()
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Start reports until ctx ends.
func (r *reporter) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("leafHub", r.leafHub))
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { r.watcher.run(ctx) })
	group.Go(func() { r.beat(ctx) })

	program.Loop{Clock: r.clock, Wake: r.poke, Gap: r.interval, Longest: longestPause,
		Failed: func(err error, again bool) {
			failures.WithLabelValues("database").Inc()
			if !again {
				klog.FromContext(ctx).Error(err, "The database does not take the report; it is tried again")
			}
		},
		Recovered: func() { klog.FromContext(ctx).Info("The database takes the report again") },
	}.Run(ctx, r.turn)
	return nil
}

// turn writes what has changed, and compares everything when it is time to, or a
// kind has become known.
func (r *reporter) turn(ctx context.Context) (next time.Time, err error) {
	_, read := r.watcher.present()
	due := !r.clock.Now().Before(r.nextCompare)
	for kind, synced := range read {
		due = due || (synced && !r.compared[kind])
	}
	if err := r.flush(ctx); err != nil {
		return time.Time{}, err
	}
	if due {
		if err := r.compare(ctx); err != nil {
			return time.Time{}, err
		}
		r.nextCompare, r.compared = r.clock.Now().Add(r.resync), read
	}
	return r.clock.Now().Add(r.interval + noticeWithin), nil
}

// take takes the next names to look at.
func (r *reporter) take() []status.ObjectRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := make([]status.ObjectRef, 0, len(r.dirty))
	for ref := range r.dirty {
		refs = append(refs, ref)
	}
	sortRefs(refs)
	refs = refs[:min(len(refs), batchObjects)]
	for _, ref := range refs {
		delete(r.dirty, ref)
	}
	pending.Set(float64(len(r.dirty)))
	return refs
}

// giveBack has names looked at again.
func (r *reporter) giveBack(refs []status.ObjectRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range refs {
		r.dirty[ref] = true
	}
	pending.Set(float64(len(r.dirty)))
}

// flush writes everything that has changed, batch by batch.
func (r *reporter) flush(ctx context.Context) error {
	for ctx.Err() == nil {
		refs := r.take()
		if len(refs) == 0 {
			return nil
		}
		all, rest, err := r.observe(ctx, refs)
		if err != nil {
			r.giveBack(refs)
			return err
		}
		r.giveBack(rest)
		batch, after, errs := planBatch(all, r.reported)
		for _, err := range errs {
			failures.WithLabelValues("object").Inc()
			klog.FromContext(ctx).Error(err, "An object is not reported")
		}
		if err := r.apply(ctx, batch); err != nil {
			r.giveBack(refs)
			return err
		}
		r.reported = after
	}
	return nil
}

// observe takes the objects as they are now, as many as make a batch; the rest
// is for the next one.
func (r *reporter) observe(ctx context.Context, refs []status.ObjectRef) (all []observed, rest []status.ObjectRef, err error) {
	clusters := 0
	for i, ref := range refs {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kinds[ref.Kind])
		err := r.objects.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
		if apierrors.IsNotFound(err) {
			all = append(all, observed{ref: ref})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("get %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, err)
		}
		all = append(all, observed{ref: ref, object: object})
		if ref.Kind == status.KindPolicy {
			list, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "status")
			if entries, ok := list.([]any); ok {
				clusters += len(entries)
			}
		}
		if clusters >= batchClusters {
			return all, refs[i+1:], nil
		}
	}
	return all, nil, nil
}

func (r *reporter) apply(ctx context.Context, batch status.Batch) error {
	if empty(batch) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	result, err := r.store.Apply(limited, r.leafHub, batch)
	if err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	batches.Inc()
	rows.WithLabelValues("written").Add(float64(result.Written))
	rows.WithLabelValues("removed").Add(float64(result.Removed))
	for _, rejection := range result.Rejected {
		failures.WithLabelValues("rejected").Inc()
		klog.FromContext(ctx).Error(errors.New(rejection.Reason), "The database cannot take an entry; the others are written", "entry", rejection.Entry)
	}
	return nil
}

// compare removes what the database has and the leaf hub has not, and has
// everything looked at that there is.
func (r *reporter) compare(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	// The names before the database: what comes in between is not yet there.
	names, read := r.watcher.present()
	inventory, err := r.store.Present(limited, r.leafHub)
	if err != nil {
		return fmt.Errorf("read what the database has: %w", err)
	}
	if err := r.apply(ctx, planGone(inventory, names, read)); err != nil {
		return err
	}
	refs := make([]status.ObjectRef, 0, len(names))
	for ref := range names {
		refs = append(refs, ref)
	}
	r.giveBack(refs)
	return r.flush(ctx)
}

// beat says at every interval that the leaf hub is there, if it is.
func (r *reporter) beat(ctx context.Context) {
	for failing := false; ; {
		err := r.beatOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures.WithLabelValues("heartbeat").Inc()
			if !failing {
				klog.FromContext(ctx).Error(err, "No heartbeat; it is tried again")
			}
		}
		failing = err != nil
		if !program.Sleep(ctx, r.clock, r.heartbeat) {
			return
		}
	}
}

func (r *reporter) beatOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.alive(limited); err != nil {
		return fmt.Errorf("ask whether the leaf hub answers: %w", err)
	}
	return r.store.Heartbeat(limited, r.leafHub)
}
