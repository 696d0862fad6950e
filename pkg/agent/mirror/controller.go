package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

const (
	// workers is how many names are worked on at once: as many writes are on
	// their way to the API server at most.
	workers = 16
	// A name that fails is tried again after retryBase, then after twice that,
	// and so on up to retryMax.
	retryBase = 20 * time.Millisecond
	retryMax  = 30 * time.Second
	// retriesPerSecond and retryBurst bound the retries of all names together,
	// so that an API server that refuses 5,000 writes is not asked for each of
	// them again and again: at most 600 requests in a minute, once the burst
	// is used.
	retriesPerSecond = 10
	retryBurst       = 100
)

// Config is what a Controller works with.
type Config struct {
	Scope Scope
	// Hub reads the ConfigMaps in the scope's namespace on the hub.
	Hub view.Reader[*corev1.ConfigMapList]
	// Copies reads, and Writer writes, those in the install namespace.
	Copies view.Reader[*corev1.ConfigMapList]
	Writer Writer
	Clock  clock.WithTicker
}

// Controller mirrors one scope. Its methods may be called at any time, from
// any goroutine.
type Controller struct {
	config Config
	queue  workqueue.TypedRateLimitingInterface[string]

	mu       sync.Mutex
	sources  *view.View[*Source]
	copies   *view.View[*Copy]
	relation Relation
	failures failures
}

// New makes a Controller that does nothing until it is run.
func New(config Config) *Controller {
	limiter := workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryBase, retryMax),
		&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(retriesPerSecond, retryBurst)},
	)
	return &Controller{
		config: config,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "mirror", Clock: config.Clock}),
		relation: Relate(config.Scope, nil, nil),
		failures: failures{},
	}
}

// Run mirrors until ctx ends, and returns when all that it started has ended.
// It can be called once.
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
	c.relateAll(logger)
	for range workers {
		group.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

func (c *Controller) watch(ctx context.Context) error {
	sources, err := view.New(ctx, "ConfigMaps on the hub", c.config.Hub, &corev1.ConfigMap{}, NewSource, c.queue.Add)
	if err != nil {
		return err
	}
	copies, err := view.New(ctx, "ConfigMaps in the install namespace", c.config.Copies, &corev1.ConfigMap{},
		c.config.Scope.NewCopy, c.queue.Add)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources, c.copies = sources, copies
	return nil
}

// relateAll decides, from all that was listed, whether there are two namespaces.
func (c *Controller) relateAll(logger klog.Logger) {
	copies := c.copies.ByName()
	sources := c.sources.ByName()
	for name, source := range sources {
		c.relate(logger, source, copies[name])
	}
	logger.Info("Mirroring ConfigMaps", "onHub", len(sources), "inInstallNamespace", len(copies))
}

// relate takes one more name into account, and returns what is known now.
func (c *Controller) relate(logger klog.Logger, source *Source, target *Copy) Relation {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.relation
	c.relation = before.with(source, target)
	if c.relation == Same && before != Same {
		logger.Info("The hub's namespace is the install namespace: nothing is copied")
	}
	return c.relation
}

func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	err := c.reconcile(ctx, name)
	switch {
	case err == nil:
		c.queue.Forget(name)
	case ctx.Err() != nil:
	default:
		c.queue.AddRateLimited(name)
	}
	return true
}

// reconcile brings one name in sync.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	logger := klog.FromContext(ctx)
	scope := c.config.Scope
	source := c.sources.Get(scope.HubNamespace, name)
	target := c.copies.Get(scope.InstallNamespace, name)

	action := PlanOne(scope, c.relate(logger, source, target), name, source, target)
	err := execute(ctx, c.config.Writer, action)
	if err == nil && action.Writes() {
		logger.V(2).Info("Wrote ConfigMap", "name", name, "action", action.Kind)
	}
	c.record(logger, action, err)
	return err
}

// record keeps and logs what a person has to know of, when it changes.
func (c *Controller) record(logger klog.Logger, action Action, err error) {
	if errors.Is(err, errStale) || errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	change := c.failures.record(action, err)
	c.mu.Unlock()
	switch {
	case change == appeared && err != nil:
		logger.Error(err, "ConfigMap is not in sync", "name", action.Name, "action", action.Kind)
	case change == appeared:
		logger.Info("ConfigMap is not in sync", "name", action.Name, "state", action.Kind, "reason", action.Reason)
	case change == cleared:
		logger.Info("ConfigMap is in sync again", "name", action.Name)
	}
}

// Failures lists what keeps ConfigMaps from being in sync, sorted by name.
func (c *Controller) Failures() []Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures.sorted()
}

// Ready says what keeps the mirror from doing its work: a side that is not
// listed yet, or that cannot be read any more.
func (c *Controller) Ready() error {
	c.mu.Lock()
	sources, copies := c.sources, c.copies
	c.mu.Unlock()
	if sources == nil {
		return fmt.Errorf("the mirror is not started yet")
	}
	return errors.Join(sources.Err(), copies.Err())
}
