package mirror

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

const (
	// workers is how many names are worked on at once, and so the highest number of
	// writes in flight.
	workers = 16
	// retriesPerSecond and retryBurst limit the retries of all names together. If an
	// API server refuses 5,000 writes, it gets at most 600 requests a minute once the
	// burst is used.
	retriesPerSecond = 10
	retryBurst       = 100
)

// Config configures a Controller.
type Config struct {
	Scope plan.Scope
	// Hub reads the ConfigMaps in the scope's namespace on the hub.
	Hub view.Reader[*corev1.ConfigMapList]
	// Copies reads, and Writer writes, the ConfigMaps in the install namespace.
	Copies view.Reader[*corev1.ConfigMapList]
	Writer Writer
	Clock  clock.WithTicker

	// Gate returns nil as long as the mirror may write. It gets the ConfigMap
	// manifests.UninstallMarker, nil if there is none. Who sets Gate has to call
	// Resync when it allows writes again.
	Gate func(marker *plan.Copy) error
	// DeletionHold is how long deletions are held when a list lacks many sources; zero
	// disables the hold. A hold begins anew when Gate allows writes again. Nothing is
	// held while Released returns true. Who sets Released has to call Resync when its
	// result becomes true. Released may be nil.
	DeletionHold time.Duration
	Released     func() bool
	// Observer is informed of writes and failures.
	Observer Observer
	// Looked is called after each look at a name: Summary may have changed.
	Looked func()
	// QueueMetrics may be nil.
	QueueMetrics workqueue.MetricsProvider
}

// Result is how a write ended.
type Result string

const (
	// Success: the API server carried the write out.
	Success Result = "success"
	// Stale: the cache was behind, so nothing was written. The name is planned again.
	Stale Result = "stale"
	// Failed: the API server refused the write, or did not answer.
	Failed Result = "error"
)

// Observer is informed of what a mirror does. Its methods are called from several
// goroutines and must not block.
type Observer interface {
	// Wrote is called after each write.
	Wrote(kind plan.Kind, result Result)
	// Synced is called when a write has brought a name in sync, with the time since
	// its change on the hub was seen. The latency is zero where the change was on the
	// managed cluster, and where the write waited on purpose.
	Synced(latency time.Duration)
	// NotInSync is called when a failure appears or changes, with the UID of the
	// ConfigMap on the hub, empty if there is none.
	NotInSync(failure plan.Failure, uid types.UID)
}

// Controller mirrors one scope. Its methods may be called at any time, from any
// goroutine.
type Controller struct {
	config Config
	queue  workqueue.TypedDelayingInterface[string]
	// writing is held for reading while a worker works on a name.
	writing sync.RWMutex

	// mu guards the fields below. It is not held during requests.
	mu      sync.Mutex
	sources *view.View[*plan.Source]
	copies  *view.View[*plan.Copy]
	book    *plan.Book
	retries *rate.Limiter
}

// New returns a Controller that does nothing until Run is called.
func New(config Config) *Controller {
	return &Controller{
		config: config,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
			Name: "mirror", Clock: config.Clock, MetricsProvider: config.QueueMetrics}),
		book:    plan.NewBook(config.Scope, config.DeletionHold),
		retries: rate.NewLimiter(retriesPerSecond, retryBurst),
	}
}

// Run mirrors until ctx ends, and returns when all goroutines that it started have
// ended. It can be called once.
func (c *Controller) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithValues("hubNamespace", c.config.Scope.HubNamespace,
		"installNamespace", c.config.Scope.InstallNamespace)
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logger))
	defer cancel()
	if err := c.watch(ctx); err != nil {
		return err
	}

	var group sync.WaitGroup
	defer group.Wait()
	defer c.queue.ShutDown()
	defer cancel()
	group.Go(c.sources.Run)
	group.Go(c.copies.Run)
	if !c.sources.WaitForSync(c.config.Clock) || !c.copies.WaitForSync(c.config.Clock) {
		return nil
	}
	logger.Info("Mirroring ConfigMaps", "onHub", len(c.sources.List()), "inInstallNamespace", len(c.copies.List()))
	for range workers {
		group.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// watch makes the caches of both namespaces. Each change queues a name.
func (c *Controller) watch(ctx context.Context) error {
	sources, err := view.New(ctx, "ConfigMaps on the hub", c.config.Hub, &corev1.ConfigMap{}, plan.NewSource, func(name string) {
		c.locked(func() { c.book.Changed(name, c.config.Clock.Now()) })
		c.queue.Add(name)
	})
	if err != nil {
		return err
	}
	sources.OnDelete(func(name string) {
		c.locked(func() { c.book.Deleted(name) })
	})
	copies, err := view.New(ctx, "ConfigMaps in the install namespace", c.config.Copies, &corev1.ConfigMap{},
		c.config.Scope.NewCopy, c.queue.Add)
	if err != nil {
		return err
	}
	c.locked(func() { c.sources, c.copies = sources, copies })
	return nil
}

func (c *Controller) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// next works on the next name of the queue. It returns false when the queue is shut
// down.
func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	defer c.config.Looked()
	reconcile := c.reconcile
	if name == manifests.UninstallMarker {
		reconcile = c.acknowledge
	}
	err := reconcile(ctx, name)
	if wait := c.backOff(name, err); wait > 0 && ctx.Err() == nil {
		c.queue.AddAfter(name, wait)
	}
	return true
}

// reconcile brings one name in sync: look, plan, write, record. It does nothing while
// the gate is closed.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	c.writing.RLock()
	defer c.writing.RUnlock()
	if c.gate(c.marker()) != nil {
		return nil
	}
	turn, source := c.begin(name, func() (*plan.Source, *plan.Copy) {
		return c.sources.Get(c.config.Scope.HubNamespace, name), c.copies.Get(c.config.Scope.InstallNamespace, name)
	})
	if turn.Wait > 0 {
		c.postpone(ctx, turn, source)
		return nil
	}
	err := write(ctx, c.config.Writer, turn.Action)
	if err != nil && ctx.Err() != nil {
		return err
	}
	return c.end(ctx, turn, source, err)
}

// begin looks at a name, and asks the book whether what it needs is carried out now. No deletion is
// recorded in between: a source that was there before it would count as one that is back, and the
// deletion would be held as if only a list implied it.
func (c *Controller) begin(name string, look func() (*plan.Source, *plan.Copy)) (plan.Turn, *plan.Source) {
	situation := plan.Situation{Now: c.config.Clock.Now(), Released: c.released(), Missing: c.missing}
	c.mu.Lock()
	defer c.mu.Unlock()
	source, target := look()
	return c.book.Begin(c.config.Scope.Plan(name, source, target), source, target, situation), source
}

func (c *Controller) missing() (names []string, owned int) {
	return plan.Missing(c.copies.List(), func(name string) *plan.Source {
		return c.sources.Get(c.config.Scope.HubNamespace, name)
	})
}

// postpone queues the name of a turn that has to wait.
func (c *Controller) postpone(ctx context.Context, turn plan.Turn, source *plan.Source) {
	logger := klog.FromContext(ctx)
	if hold := turn.Hold; hold != nil {
		logger.Info("Holding deletions that a list of the hub's ConfigMaps implies",
			"deletions", hold.Removals, "copies", hold.Copies, "until", hold.Until)
	}
	c.report(logger, turn.Change, turn.Action.Name, source)
	if turn.Contested {
		manager := otherManager(ctx, c.config.Writer, turn.Action.Name)
		var failure plan.Failure
		c.locked(func() { failure = c.book.Explain(turn.Action.Name, manager) })
		logger.Info("ConfigMap is contested", "name", failure.Name, "manager", manager)
		c.config.Observer.NotInSync(failure, uidOf(source))
	}
	c.queue.AddAfter(turn.Action.Name, turn.Wait)
}

// end records the outcome of a turn and informs the observer. It returns the error
// with which the name is tried again.
func (c *Controller) end(ctx context.Context, turn plan.Turn, source *plan.Source, err error) error {
	logger := klog.FromContext(ctx)
	var outcome plan.Outcome
	c.locked(func() { outcome = c.book.End(turn, err, c.config.Clock.Now()) })
	if outcome.LookAgain > 0 {
		c.queue.AddAfter(turn.Action.Name, outcome.LookAgain)
	}
	if turn.Action.Kind.Writes() {
		c.config.Observer.Wrote(turn.Action.Kind, resultOf(outcome.Err))
		if outcome.Err == nil {
			c.config.Observer.Synced(outcome.Latency)
			logger.V(2).Info("Wrote ConfigMap", "name", turn.Action.Name, "action", turn.Action.Kind)
		}
	}
	c.report(logger, outcome.Change, turn.Action.Name, source)
	return outcome.Err
}

// report informs the observer of a failure, and retries failed names when one of
// them works again.
func (c *Controller) report(logger klog.Logger, change plan.Change, name string, source *plan.Source) {
	if failure := change.Appeared; failure != nil {
		logger.Info("ConfigMap is not in sync", "name", name, "state", failure.Kind, "reason", failure.Reason)
		c.config.Observer.NotInSync(*failure, uidOf(source))
	}
	if !change.Cleared {
		return
	}
	logger.Info("Cleared ConfigMap failure", "name", name)
	if change.NoneLeft {
		// Retries that were reserved and not made do not delay later ones.
		c.locked(func() { c.retries = rate.NewLimiter(retriesPerSecond, retryBurst) })
	}
	for _, failing := range change.Retry {
		c.queue.Add(failing)
	}
}

// backOff returns how long a name waits after a look that ended with err: the longer
// of its own back-off and its turn among all names that fail. It is zero for no error.
func (c *Controller) backOff(name string, err error) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := c.book.BackOff(name, err != nil)
	if err != nil {
		now := c.config.Clock.Now()
		wait = max(wait, c.retries.ReserveN(now, 1).DelayFrom(now))
	}
	return wait
}

// marker returns the uninstall marker in the cache, or nil. The hook writes the
// marker before it deletes a copy, and one watch delivers both in their order. So
// the cache never shows a deleted copy without the marker.
func (c *Controller) marker() *plan.Copy {
	return c.copies.Get(c.config.Scope.InstallNamespace, manifests.UninstallMarker)
}

// acknowledge answers the uninstall marker when the mirror has stopped because of it
// (docs/design.md#uninstall).
func (c *Controller) acknowledge(ctx context.Context, _ string) error {
	marker := c.marker()
	answer := plan.Answer(marker)
	if answer == nil || c.gate(marker) == nil {
		return nil
	}
	// A worker may have begun before the marker was seen: wait for its write.
	c.writing.Lock()
	//nolint:staticcheck // SA2001: the critical section is empty because only the wait matters.
	c.writing.Unlock()
	err := write(ctx, c.config.Writer, *answer)
	if err == nil {
		klog.FromContext(ctx).Info("Stopped for good, as the uninstall asks", "marker", manifests.UninstallMarker)
	}
	return err
}

func uidOf(source *plan.Source) types.UID {
	if source == nil {
		return ""
	}
	return source.UID
}
