// Package rollout reports on the agents to OCM and to the hub's users, from the state
// of each agent's Deployment in the ManifestWork's status. See docs/design.md#rollout.
//
// It writes two things:
//
//   - The annotation open-cluster-management.io/config-spec-hash on the ManifestWork,
//     when the agent is rolled out with that configuration. OCM's add-on manager goes
//     on to the next clusters when it sees it, so a rollout stops at the first group of
//     clusters on which the agent does not start.
//   - The conditions Degraded, ConfigurationValid, and, while the agent is silent,
//     ConfigMapsSynced of the ManagedClusterAddOn.
//
// The decisions are in package plan. Which clusters are next is decided by OCM's
// add-on manager, and addon-framework ships the agent.
package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/patcher"

	"open-cluster-management.io/addon-framework/pkg/index"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// workers is how many clusters are reconciled at the same time.
const workers = 8

// The back-off of one cluster. client-go's default also limits the retries of all clusters
// together, to 10 per second.
const (
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = 1000 * time.Second
)

// requestTimeout bounds the requests for one cluster.
const requestTimeout = 10 * time.Second

// settleTime is how long to wait after a change of a config before reporting it as
// pending. OCM's add-on manager usually moves the desired hashes within that time.
const settleTime = 10 * time.Second

// Config has the dependencies of a Controller.
type Config struct {
	// AddOns, Works and Configs are the informers of the add-on's
	// ManagedClusterAddOns (with addon-framework's index AddonByConfig), of its
	// ManifestWorks, and of AddOnDeploymentConfigs.
	AddOns, Works, Configs cache.SharedIndexInformer
	// DeployWorks returns the ManifestWorks with the agent of an add-on.
	DeployWorks func(addOn *addonv1beta1.ManagedClusterAddOn) ([]*workv1.ManifestWork, error)
	// Inspect checks the configuration of an add-on.
	Inspect func(addOn *addonv1beta1.ManagedClusterAddOn) plan.Inspection

	// Turns orders the writers of the add-ons; AddOnClient is its client.
	Turns *turns.Turns

	AddOnClient addonclient.ManagedClusterAddOnsGetter
	WorkClient  workclient.ManifestWorksGetter
	Clock       clock.WithTicker
}

// Controller reports on the agents of all clusters.
type Controller struct {
	config Config
	addOns addonlisters.ManagedClusterAddOnLister
	queue  workqueue.TypedRateLimitingInterface[string]

	mu sync.Mutex
	// down is, by cluster, since when the agent has had no available pod, or has not been
	// reported, or has not been shipped.
	down map[string]outage
}

type outage struct {
	shipped, reported bool
	since             time.Time
}

// New returns a Controller. It does nothing before Run.
func New(config Config) *Controller {
	return &Controller{
		config: config,
		addOns: addonlisters.NewManagedClusterAddOnLister(config.AddOns.GetIndexer()),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, lastBackoff),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "rollout", Clock: config.Clock}),
		down: map[string]outage{},
	}
}

// Run reports on the agents until ctx ends, and returns when its workers have ended.
// The caller starts the informers.
func (c *Controller) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	defer c.queue.ShutDown()
	for _, source := range []struct {
		informer cache.SharedIndexInformer
		handle   func(any)
	}{
		{c.config.AddOns, c.addOnChanged}, {c.config.Works, c.workChanged}, {c.config.Configs, c.configChanged},
	} {
		registration, err := source.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: source.handle, DeleteFunc: source.handle, UpdateFunc: func(_, object any) { source.handle(object) }})
		if err != nil {
			return fmt.Errorf("add an event handler to an informer of the hub: %w", err)
		}
		if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return nil
		}
	}
	for range workers {
		group.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

func (c *Controller) addOnChanged(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.queue.Add(key.Namespace)
	}
}

// workChanged queues the cluster of the work's add-on. In hosted mode the work is in
// another namespace, and has a label with the cluster.
func (c *Controller) workChanged(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	work, ok := object.(metav1.Object)
	if !ok {
		return
	}
	if cluster := work.GetLabels()[addonv1beta1.AddonNamespaceLabelKey]; cluster != "" {
		c.queue.Add(cluster)
		return
	}
	c.queue.Add(work.GetNamespace())
}

// configChanged queues the clusters of all add-ons that use the config, after
// settleTime.
func (c *Controller) configChanged(object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	users, err := c.config.AddOns.GetIndexer().IndexKeys(index.AddonByConfig, addonv1beta1.GroupName+"/addondeploymentconfigs/"+key)
	if err != nil {
		return
	}
	for _, user := range users {
		if cluster, _, err := cache.SplitMetaNamespaceKey(user); err == nil {
			c.queue.AddAfter(cluster, settleTime)
		}
	}
}

func (c *Controller) next(ctx context.Context) bool {
	cluster, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(cluster)
	if ctx.Err() != nil {
		return false // a queue that is shut down still returns what it has
	}
	done, ok := c.config.Turns.Take(cluster)
	defer done()
	if !ok {
		c.queue.AddAfter(cluster, turns.Retry)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	after, err := c.reconcile(ctx, cluster)
	switch {
	case err == nil:
		c.queue.Forget(cluster)
		if after > 0 {
			c.queue.AddAfter(cluster, after)
		}
	case apierrors.IsConflict(err):
		// Another controller wrote first, and the cache does not have its write yet.
		c.queue.AddRateLimited(cluster)
	default:
		utilruntime.HandleErrorWithContext(ctx, err, "Failed to report on an agent, retrying", "cluster", cluster)
		c.queue.AddRateLimited(cluster)
	}
	return true
}

// reconcile writes the annotation and the conditions for the agent of one cluster. It
// returns the time after which to reconcile again though nothing changed, or zero.
func (c *Controller) reconcile(ctx context.Context, cluster string) (time.Duration, error) {
	addOn, err := c.addOns.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
	if apierrors.IsNotFound(err) {
		c.forget(cluster)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get ManagedClusterAddOn of cluster %s: %w", cluster, err)
	}
	works, err := c.config.DeployWorks(addOn)
	if err != nil {
		return 0, err
	}
	if err := c.release(ctx, addOn, works); err != nil {
		return 0, err
	}
	changed, state := addOn.DeepCopy(), plan.StateOf(works)
	after := plan.Conditions(changed, c.config.Inspect(addOn), state, len(works) > 0, c.downFor(cluster, len(works) > 0, state))
	writer := patcher.NewPatcher[*addonv1beta1.ManagedClusterAddOn, addonv1beta1.ManagedClusterAddOnSpec,
		addonv1beta1.ManagedClusterAddOnStatus](c.config.AddOnClient.ManagedClusterAddOns(cluster))
	if _, err := writer.PatchStatus(ctx, changed, changed.Status, addOn.Status); err != nil {
		return 0, fmt.Errorf("write the conditions of ManagedClusterAddOn %s: %w", klog.KObj(addOn), err)
	}
	return after, nil
}

// downFor records whether the cluster's agent has an available pod, and returns how
// long it has had none, has been shipped without a report, or has not been shipped.
func (c *Controller) downFor(cluster string, shipped bool, state plan.State) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state.Reported() && !state.Down() {
		delete(c.down, cluster)
		return 0
	}
	now := outage{shipped, state.Reported(), c.config.Clock.Now()}
	known, ok := c.down[cluster]
	if !ok || known.shipped != now.shipped || known.reported != now.reported {
		known = now
		c.down[cluster] = known
	}
	return now.since.Sub(known.since)
}

// forget drops what downFor recorded.
func (c *Controller) forget(cluster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.down, cluster)
}

// release writes the annotation on the works that were held until the agent was rolled
// out.
func (c *Controller) release(ctx context.Context, addOn *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) error {
	held, value := plan.Releases(addOn, works)
	for _, work := range held {
		patch, err := plan.ReleasePatch(work, value)
		if err != nil {
			return err
		}
		_, err = c.config.WorkClient.ManifestWorks(work.Namespace).Patch(ctx, work.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the rollout's annotation on ManifestWork %s: %w", klog.KObj(work), err)
		}
		klog.FromContext(ctx).Info("Released the rollout of an agent", "cluster", addOn.Namespace, "work", klog.KObj(work), "configs", value)
	}
	return nil
}
