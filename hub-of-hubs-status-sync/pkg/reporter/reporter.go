package reporter

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const (
	// beatTimeout bounds one heartbeat, which is small: what the store allows for
	// a batch would be too long.
	beatTimeout = 10 * time.Second
	// longestPause is the longest pause while the database is away.
	longestPause = 10 * time.Second
	// noticeWithin is how soon a kind is noticed that has become known without a
	// change.
	noticeWithin = time.Second
)

// objects are the leaf hub's.
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
	// alive says whether the leaf hub's API server answers.
	alive func(context.Context) error

	mu    sync.Mutex
	dirty map[status.ObjectRef]bool
	// taken is how many names a turn has yet to write.
	taken    int
	poke     chan struct{}
	reported reported
	rejected rejections

	// nextCompare is when to compare everything.
	started, nextCompare time.Time
	// compared are the kinds that were known as a whole and compared since the
	// start; failing is that the last turn failed. They are replaced, with mu.
	compared map[status.Kind]bool
	failing  bool
	// trueAgain tells the heartbeat that the rows have become true.
	wasTrue   bool
	trueAgain chan struct{}
}

func newReporter(opts *Options, store status.Writer, objects objects, clock clock.WithTicker) *reporter {
	return &reporter{
		leafHub: opts.LeafHubName, store: store, objects: objects, clock: clock,
		interval: opts.Interval, heartbeat: opts.Heartbeat, resync: opts.Resync,
		dirty: map[status.ObjectRef]bool{}, poke: make(chan struct{}, 1), trueAgain: make(chan struct{}, 1), reported: reported{},
	}
}

// changed notes that an object has to be looked at.
func (r *reporter) changed(ref status.ObjectRef) {
	r.mu.Lock()
	r.dirty[ref] = true
	r.count()
	r.mu.Unlock()
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Start reports until ctx ends.
func (r *reporter) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("leafHub", r.leafHub))
	r.started = r.clock.Now()
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

// turn writes what has changed, and compares everything when it is time to, and
// a kind when it has become known as a whole.
func (r *reporter) turn(ctx context.Context) (next time.Time, err error) {
	compared, err := r.work(ctx)
	r.turned(err, compared)
	return r.clock.Now().Add(r.interval + noticeWithin), err
}

// work returns which kinds were compared until then.
func (r *reporter) work(ctx context.Context) (map[status.Kind]bool, error) {
	began, read := r.clock.Now(), r.watcher.read()
	all := !began.Before(r.nextCompare)
	due := dueKinds(read, r.compared, all)
	if len(due) == 0 {
		return r.compared, r.flush(ctx)
	}
	if err := r.compare(ctx, due); err != nil {
		return r.compared, err
	}
	if all {
		r.rejected.forget()
		r.nextCompare = nextCompare(r.started, began, r.clock.Now(), r.resync)
	}
	compared := maps.Clone(due)
	maps.Copy(compared, r.compared)
	return compared, nil
}

// take takes all names that have to be looked at.
func (r *reporter) take() []status.ObjectRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := slices.Collect(maps.Keys(r.dirty))
	clear(r.dirty)
	slices.SortFunc(refs, compareRefs)
	r.taken = len(refs)
	return refs
}

// left notes how many of the taken names are left to write.
func (r *reporter) left(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = n
	r.count()
}

// giveBack has names looked at again; none is taken then.
func (r *reporter) giveBack(refs []status.ObjectRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range refs {
		r.dirty[ref] = true
	}
	r.taken = 0
	r.count()
}

// count shows how much is not yet written; it is called with the lock.
func (r *reporter) count() { pending.Set(float64(len(r.dirty) + r.taken)) }
