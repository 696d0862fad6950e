package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/addonconfig"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/agentdeploy"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/certificate"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/cmaconfig"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/cmamanagedby"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/registration"
	"open-cluster-management.io/addon-framework/pkg/agent"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// workers is how many clusters one of the framework's controllers reconciles at the same
// time. A reconcile mostly waits for the API server or for the cluster's turn: of eight workers about four
// waited for a turn while an add-on was enabled on 100 clusters.
const workers = 32

// reconcileTimeout bounds one reconcile. The framework's requests have no timeout, and
// with a turn a request that is never answered would stop several clusters.
const reconcileTimeout = time.Minute

// The back-off of one key. The queues' own limiter, client-go's default, also allows only
// 10 retries per second of all keys: one retry for each of 1,000 clusters takes 90 s.
// https://github.com/kubernetes/client-go/blob/v0.35.4/util/workqueue/default_rate_limiters.go
const (
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = 1000 * time.Second
)

// frameworkController is a controller of addon-framework, or one that runs as those do.
type frameworkController struct {
	factory.Controller
	workers int
	// perCluster reports whether its keys are CLUSTER/ADD-ON.
	perCluster bool
	// sync replaces the controller's Sync; nil means that one.
	sync func(ctx context.Context, key string) error
	// joins are controllers whose keys sync reconciles, too.
	joins []factory.Controller
	// urgent reports whether a key is reconciled before those for which it is false (newQueue); nil means that all keys keep
	// their order.
	urgent func(key string) bool
	// wait returns after how long to reconcile the key instead of now, or zero; nil means
	// always now.
	wait func(key string) time.Duration
}

// newFramework returns addon-framework's controllers, as its AddonManager starts them with
// one worker each.
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/addonmanager/base_manager.go
func newFramework(c *clients, works workclient.Interface, i *informers, added *addon.AgentAddon, order *turns.Turns,
) []frameworkController {
	agents := map[string]agent.AgentAddon{manifests.AddonName: added}
	configs := map[schema.GroupVersionResource]bool{}
	for _, resource := range added.GetAgentAddonOptions().SupportedConfigGVRs {
		configs[resource] = true
	}
	clusters, requests := i.cluster.Cluster().V1().ManagedClusters(), i.kube.Certificates().V1().CertificateSigningRequests()
	addOns, management := i.addon.Addon().V1beta1().ManagedClusterAddOns(), i.addon.Addon().V1beta1().ClusterManagementAddOns()
	byName := utils.FilterByAddonName(agents)
	deploy := agentdeploy.NewAddonDeployController(works, c.addon, clusters, addOns, i.work.Work().V1().ManifestWorks(), agents, added.MayDeploy)
	batched := batchedAddOns{addOns, order}
	register := registration.NewAddonRegistrationController(c.addon, clusters, batched, agents, added.MayRegister)
	configure := addonconfig.NewAddonConfigController(c.addon, batched, management, i.dynamic, configs, byName)
	approve := certificate.NewCSRApprovingController(c.kube, clusters, requests, addOns, agents, utils.AllowAllAddOns)
	// Each change of an add-on or of its ManifestWork queues the cluster again, for example each status report. Clusters
	// without an agent are reconciled before these.
	urgent := withoutWork(i.work.Work().V1().ManifestWorks().Informer().GetIndexer())
	return []frameworkController{
		{Controller: deploy, workers: workers, perCluster: true, urgent: urgent},
		{Controller: register, workers: workers, perCluster: true, urgent: urgent, joins: []factory.Controller{configure},
			sync: (&registrar{addOns.Lister(), c.addon.AddonV1beta1(), added.MayRegister, order, register, configure}).sync},
		{Controller: cmamanagedby.NewCMAManagedByController(c.addon, management, agents, byName), workers: 1},
		{Controller: cmaconfig.NewCMAConfigController(c.addon, management, i.dynamic, configs, byName), workers: 1},
		{Controller: approve, workers: workers, wait: newQuiet(requests.Lister(), addOns.Lister(), clock.RealClock{}).wait},
		{Controller: certificate.NewCSRSignController(c.kube, clusters, requests, addOns, agents, utils.AllowAllAddOns), workers: 1},
	}
}

// runFramework runs the controllers until ctx ends, and returns when their workers have
// ended. The informers' caches must have synced.
func runFramework(ctx context.Context, controllers []frameworkController, order *turns.Turns) {
	var group sync.WaitGroup
	for _, c := range controllers {
		var queue workqueue.TypedDelayingInterface[string] = c.SyncContext().Queue()
		sources, limiter := c.joins, newLimiter()
		if c.urgent != nil {
			queue, sources = newQueue(c.Name()+"-urgent-first", c.urgent), append([]factory.Controller{c.Controller}, sources...)
		}
		ctx := klog.NewContext(ctx, klog.FromContext(ctx).WithName(c.Name()))
		for range c.workers {
			group.Go(func() {
				for c.next(ctx, queue, limiter, order) {
				}
			})
		}
		for _, source := range sources {
			group.Go(func() { forward(source.SyncContext().Queue(), queue) })
		}
		group.Go(func() {
			<-ctx.Done()
			for _, source := range sources {
				source.SyncContext().Queue().ShutDown()
			}
			queue.ShutDown()
		})
	}
	group.Wait()
}

// forward adds the keys of one queue to another one, until it is shut down.
func forward(from, to workqueue.TypedInterface[string]) {
	for {
		key, shutdown := from.Get()
		if shutdown {
			return
		}
		to.Add(key)
		from.Done(key)
	}
}

func newLimiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, lastBackoff)
}

// next reconciles the queue's next key. It reports whether the queue goes on. It does what
// the framework's own workers do, but for the turns, the timeout and the limiter.
// https://github.com/open-cluster-management-io/sdk-go/blob/v1.3.0/pkg/basecontroller/factory/base_controller.go
func (c *frameworkController) next(ctx context.Context, queue workqueue.TypedDelayingInterface[string],
	limiter workqueue.TypedRateLimiter[string], order *turns.Turns) bool {
	key, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(key)
	if ctx.Err() != nil {
		return false // a queue that is shut down still returns what it has
	}
	if c.wait != nil {
		if after := c.wait(key); after > 0 {
			queue.AddAfter(key, after)
			return true
		}
	}
	if cluster, _, err := cache.SplitMetaNamespaceKey(key); c.perCluster && err == nil {
		done, ok := order.Take(cluster)
		defer done()
		if !ok {
			queue.AddAfter(key, turns.Retry)
			return true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	if err := c.reconcile(ctx, key); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Failed to reconcile, retrying", "key", key)
		queue.AddAfter(key, limiter.When(key))
		return true
	}
	limiter.Forget(key)
	return true
}

func (c *frameworkController) reconcile(ctx context.Context, key string) error {
	if c.sync != nil {
		return c.sync(ctx, key)
	}
	return c.Sync(ctx, c.SyncContext(), key)
}
