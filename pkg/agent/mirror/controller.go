package mirror

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// workers is how many names are worked on at once: as many writes are on their
// way to the API server at most.
const workers = 16

// Config is what a Controller works with.
type Config struct {
	Scope Scope
	// Hub reads the ConfigMaps in the scope's namespace on the hub.
	Hub view.Reader[*corev1.ConfigMapList]
	// Copies reads, and Writer writes, those in the install namespace.
	Copies view.Reader[*corev1.ConfigMapList]
	Writer Writer
	Clock  clock.WithTicker

	// Gate returns nil as long as the mirror may write, given the ConfigMap
	// manifests.UninstallMarker, nil where there is none. When it allows again
	// what it did not, Resync has to be called.
	Gate func(marker *Copy) error
	// DeletionHold is how long deletions are held that only a list tells of, when
	// they are many; zero switches that off. A hold begins anew when Gate allows
	// writes again. While Released returns true, none is held; when it begins to,
	// Resync has to be called. It may be nil.
	DeletionHold time.Duration
	Released     func() bool
	// Observer is told what happens.
	Observer Observer
	// Looked is called after each look at a name: Summary may be another one.
	Looked func()
	// QueueMetrics may be nil.
	QueueMetrics workqueue.MetricsProvider
}

// Controller mirrors one scope. Its methods may be called at any time, from
// any goroutine.
type Controller struct {
	config   Config
	pace     *pace
	queue    workqueue.TypedRateLimitingInterface[string]
	arrivals arrivals
	// writing is held for reading while a name is worked on.
	writing sync.RWMutex

	mu       sync.Mutex
	sources  *view.View[*Source]
	copies   *view.View[*Copy]
	relation Relation
	failures failures
	trend    trend
	contests contests
	stales   stales
	brake    *brake
	remnants map[string]*metav1.ObjectMeta
}

// New makes a Controller that does nothing until it is run.
func New(config Config) *Controller {
	pace := newPace(config.Clock)
	return &Controller{
		config: config,
		pace:   pace,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(pace, workqueue.TypedRateLimitingQueueConfig[string]{
			Name: "mirror", Clock: config.Clock, MetricsProvider: config.QueueMetrics}),
		relation: Relate(config.Scope, nil, nil),
		failures: failures{},
		contests: contests{},
		brake:    newBrake(config.DeletionHold),
		stales:   stales{},
		remnants: map[string]*metav1.ObjectMeta{},
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
	sources, err := view.New(ctx, "ConfigMaps on the hub", c.config.Hub, &corev1.ConfigMap{}, NewSource, c.changedOnHub)
	if err != nil {
		return err
	}
	sources.OnDelete(c.deletedOnHub)
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

func (c *Controller) changedOnHub(name string) {
	c.arrivals.add(name, arrival{changed: true, at: c.config.Clock.Now()})
	c.queue.Add(name)
}

// deletedOnHub is called for a watch event alone, not for what a list lacks.
func (c *Controller) deletedOnHub(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.brake.tell(name)
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

// relate takes one more name into account, and returns what is known now. What
// was left alone as long as nothing was known is looked at again.
func (c *Controller) relate(logger klog.Logger, source *Source, target *Copy) Relation {
	c.mu.Lock()
	before := c.relation
	now := before.with(source, target)
	c.relation = now
	c.mu.Unlock()
	switch {
	case now == Same && before != Same:
		logger.Info("The hub's namespace is the install namespace: nothing is copied")
	case now == Distinct && before == Undecided:
		c.Resync()
	}
	return now
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
		// The mirror ends.
	default:
		c.queue.AddRateLimited(name)
	}
	return true
}
