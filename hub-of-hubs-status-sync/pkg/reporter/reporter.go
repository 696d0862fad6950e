package reporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

const (
	// beatTimeout limits one heartbeat. The store's own limit is for a batch, and
	// too long for a heartbeat.
	beatTimeout = 10 * time.Second
	// maxRetry limits the back-off while the database is unavailable.
	maxRetry = 10 * time.Second
	// syncedWithin is how soon a kind whose list became complete without a change is
	// compared.
	syncedWithin = time.Second
)

// objects reads the leaf hub's objects.
type objects interface {
	get(context.Context, status.ObjectRef) (*unstructured.Unstructured, error)
}

// reporter writes a leaf hub's rows. It is a Runnable.
type reporter struct {
	leafHub   string
	store     status.Writer
	objects   objects
	watcher   *watcher
	clock     clock.WithTicker
	interval  time.Duration
	heartbeat time.Duration
	resync    time.Duration
	// alive returns an error if the leaf hub's API server does not answer.
	alive func(context.Context) error

	mu sync.Mutex
	// dirty are the objects to report.
	dirty map[status.ObjectRef]bool
	// taken is the number of objects that were taken from dirty and are not written
	// yet.
	taken    int
	wake     retry.Signal
	policies plan.Reported
	refused  plan.Rejections

	// nextCompare is when everything is compared again.
	started, nextCompare time.Time
	// compared are the kinds that were compared since the start; failing is true if
	// the last turn failed. Both are replaced under mu.
	compared map[status.Kind]bool
	failing  bool
	// wasRight is true if the rows were right after the last turn; nowRight wakes
	// the heartbeat when they become right.
	wasRight bool
	nowRight retry.Signal
}

func newReporter(opts *Options, store status.Writer, objects objects, clock clock.WithTicker) *reporter {
	return &reporter{
		leafHub: opts.LeafHubName, store: store, objects: objects, clock: clock,
		interval: opts.Interval, heartbeat: opts.Heartbeat, resync: opts.Resync,
		dirty: map[status.ObjectRef]bool{}, wake: retry.NewSignal(), nowRight: retry.NewSignal(), policies: plan.Reported{},
	}
}

// changed records that an object has to be reported.
func (r *reporter) changed(ref status.ObjectRef) {
	r.mu.Lock()
	r.dirty[ref] = true
	r.showPending()
	r.mu.Unlock()
	r.wake.Notify()
}

// Start reports until ctx ends.
func (r *reporter) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("leafHub", r.leafHub))
	r.started = r.clock.Now()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { r.watcher.run(ctx) })
	group.Go(func() { r.beat(ctx) })

	program.Loop{Clock: r.clock, Wake: r.wake, Gap: r.interval, Longest: maxRetry,
		Failed: func(err error, again bool) {
			failures.WithLabelValues("database").Inc()
			if !again {
				klog.FromContext(ctx).Error(err, "Report failed, retrying")
			}
		},
		Recovered: func() { klog.FromContext(ctx).Info("Report succeeded again") },
	}.Run(ctx, r.turn)
	return nil
}

// turn writes the changed objects, and compares the kinds that are due.
func (r *reporter) turn(ctx context.Context) (next time.Time, err error) {
	compared, err := r.work(ctx)
	r.recordTurn(err, compared)
	return r.clock.Now().Add(r.interval + syncedWithin), err
}

// work returns the kinds that were compared until now.
func (r *reporter) work(ctx context.Context) (map[status.Kind]bool, error) {
	began, synced := r.clock.Now(), r.watcher.synced()
	all := !began.Before(r.nextCompare)
	due := plan.DueKinds(synced, r.compared, all)
	if len(due) == 0 {
		return r.compared, r.flush(ctx)
	}
	if err := r.compare(ctx, due); err != nil {
		return r.compared, err
	}
	if all {
		r.refused.Rotate()
		r.nextCompare = plan.NextCompare(r.started, began, r.clock.Now(), r.resync)
	}
	compared := maps.Clone(due)
	maps.Copy(compared, r.compared)
	return compared, nil
}

// compare removes the rows of some kinds whose objects the leaf hub does not have,
// and writes all objects of these kinds and all other changed ones.
func (r *reporter) compare(ctx context.Context, which map[status.Kind]bool) error {
	// The objects are listed before the database: an object that is created in
	// between has no row yet.
	present := r.watcher.present(which)
	inventory, err := r.store.Present(ctx, r.leafHub)
	if err != nil {
		return fmt.Errorf("read the leaf hub's rows: %w", err)
	}
	for _, batch := range plan.Gone(inventory, present, which) {
		if err := r.apply(ctx, batch); err != nil {
			return err
		}
	}
	r.giveBack(slices.Collect(maps.Keys(present)))
	return r.flush(ctx)
}

// flush writes all objects that have changed until now, batch by batch. Changes
// during the flush wait for the next turn: otherwise a busy hub would be written
// without a pause.
func (r *reporter) flush(ctx context.Context) error {
	for refs := r.take(); len(refs) > 0 && ctx.Err() == nil; {
		rest, err := r.write(ctx, refs)
		if err != nil {
			r.giveBack(refs)
			return err
		}
		r.setTaken(len(rest))
		refs = rest
	}
	return ctx.Err()
}

// write writes one batch, and returns the objects that remain for the next one.
func (r *reporter) write(ctx context.Context, refs []status.ObjectRef) (rest []status.ObjectRef, err error) {
	all, rest, err := r.observe(ctx, refs)
	if err != nil {
		return nil, err
	}
	batch, after, again := plan.NewBatch(all, r.policies)
	if err := r.apply(ctx, batch); err != nil {
		return nil, err
	}
	r.policies = after
	return append(rest, again...), nil
}

// observe reads the objects of one batch, and returns the rest.
func (r *reporter) observe(ctx context.Context, refs []status.ObjectRef) (all []plan.Observed, rest []status.ObjectRef, err error) {
	var size plan.Size
	for i, ref := range refs {
		object, err := r.objects.get(ctx, ref)
		o := plan.Observed{Ref: ref, Object: object}
		if apierrors.IsNotFound(err) {
			o.Object = nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("get %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, err)
		}
		if o.Object != nil && ref.Kind != status.KindPolicy {
			if o.Payload, err = json.Marshal(object.Object); err != nil {
				failures.WithLabelValues("object").Inc()
				klog.FromContext(ctx).Error(err, "Skipped object that cannot be encoded", "kind", ref.Kind, "object", klog.KRef(ref.Namespace, ref.Name))
				continue
			}
		}
		all = append(all, o)
		if size.Add(o); size.Full() {
			return all, refs[i+1:], nil
		}
	}
	return all, nil, nil
}

func (r *reporter) apply(ctx context.Context, batch status.Batch) error {
	if plan.Empty(batch) {
		return nil
	}
	result, err := r.store.Apply(ctx, r.leafHub, batch)
	if err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	batches.Inc()
	rows.WithLabelValues("written").Add(float64(result.Written))
	rows.WithLabelValues("removed").Add(float64(result.Removed))
	failures.WithLabelValues("rejected").Add(float64(len(result.Rejected)))
	logger := klog.FromContext(ctx)
	if fresh, more := r.refused.Add(result.Rejected); len(fresh) > 0 {
		logger.Error(nil, "Database rejected entries of a batch, wrote the others", "entries", fresh, "more", more)
	} else if len(result.Rejected) > 0 {
		logger.V(2).Info("Database rejected known entries again", "entries", len(result.Rejected))
	}
	return nil
}

// take takes all dirty objects, sorted.
func (r *reporter) take() []status.ObjectRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := slices.Collect(maps.Keys(r.dirty))
	clear(r.dirty)
	slices.SortFunc(refs, plan.CompareRefs)
	r.taken = len(refs)
	return refs
}

// setTaken records how many taken objects are not written yet.
func (r *reporter) setTaken(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = n
	r.showPending()
}

// giveBack makes objects dirty again; none is taken after it.
func (r *reporter) giveBack(refs []status.ObjectRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range refs {
		r.dirty[ref] = true
	}
	r.taken = 0
	r.showPending()
}

// showPending updates the metric. It requires the lock.
func (r *reporter) showPending() { pending.Set(float64(len(r.dirty) + r.taken)) }

// beat sends a heartbeat at every interval, and as soon as the rows become right.
func (r *reporter) beat(ctx context.Context) {
	for failing := false; ; {
		timer := r.clock.NewTimer(r.heartbeat)
		select {
		case <-timer.C():
		case <-r.nowRight:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		err := r.beatOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures.WithLabelValues("heartbeat").Inc()
			if !failing {
				klog.FromContext(ctx).Error(err, "Heartbeat failed, retrying")
			}
		}
		failing = err != nil
	}
}

// beatOnce sends a heartbeat if the rows are right and the API server answers.
// Otherwise the global hub would believe the rows from before an outage again,
// before the leaf hub has corrected them.
func (r *reporter) beatOnce(ctx context.Context) error {
	if err := r.notRight(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if err := r.alive(limited); err != nil {
		return fmt.Errorf("check the leaf hub's API server: %w", err)
	}
	return r.store.Heartbeat(limited, r.leafHub, r.heartbeat)
}

// notRight returns the reason why the leaf hub's rows may not be right, or nil.
func (r *reporter) notRight() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing {
		return errors.New("the last report to the database failed")
	}
	if waiting := plan.Uncompared(r.compared, r.watcher.unserved()); len(waiting) > 0 {
		return fmt.Errorf("not compared with the database yet: %v", waiting)
	}
	return nil
}

// recordTurn records the result of a turn, and the kinds that were compared until
// now.
func (r *reporter) recordTurn(err error, compared map[status.Kind]bool) {
	r.mu.Lock()
	r.failing, r.compared = err != nil, compared
	r.mu.Unlock()
	before := r.wasRight
	if r.wasRight = r.notRight() == nil; r.wasRight && !before {
		r.nowRight.Notify()
	}
}
