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

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
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

	// nextCompare is when to compare everything, and compared which kinds were
	// known as a whole when that was done last.
	nextCompare time.Time
	compared    map[status.Kind]bool
}

func newReporter(opts *Options, store status.Writer, objects objects, clock clock.WithTicker) *reporter {
	return &reporter{
		leafHub: opts.LeafHubName, store: store, objects: objects, clock: clock,
		interval: opts.Interval, heartbeat: opts.Heartbeat, resync: opts.Resync,
		dirty: map[status.ObjectRef]bool{}, poke: make(chan struct{}, 1), reported: reported{},
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
