package controller

import (
	"context"
	"sync"

	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/fleet"
	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// Run runs the controller with valid options until ctx ends, and then returns nil.
func Run(ctx context.Context, opts *Options) error {
	info := version.Get()
	klog.FromContext(ctx).Info("Starting controller", "version", info.GitVersion, "commit", info.GitCommit, "agentImage", opts.AgentImage)
	hub, err := frame.Connect(ctx, &opts.Options, manifests.ControllerName, neededAPIs())
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	clients, err := newClients(hub)
	if err != nil {
		return err
	}
	return frame.Run(ctx, &opts.Options, manifests.ControllerName, hub.Config, func(ctx context.Context) error {
		return runAddon(ctx, clients, opts)
	})
}

// neededAPIs returns the APIs without which a cluster is not a hub for this controller.
func neededAPIs() []frame.API {
	return []frame.API{
		{GroupVersion: addonv1beta1.GroupVersion.String(), Resources: []string{"addondeploymentconfigs", "clustermanagementaddons", "managedclusteraddons"}},
		{GroupVersion: clusterv1.GroupVersion.String(), Resources: []string{"managedclusters"}},
		{GroupVersion: workv1.GroupVersion.String(), Resources: []string{"manifestworks"}},
		{GroupVersion: v1alpha1.GroupVersion.String(), Resources: []string{mirrorResource.Resource}, Own: true},
	}
}

// runAddon runs addon-framework's controllers with the add-on, and package rollout's,
// until ctx ends, and returns when they have ended. It starts them when all caches have
// synced: with an empty cache of RoleBindings it would write all of them again.
func runAddon(ctx context.Context, clients *clients, opts *Options) error {
	informers := newInformers(clients, withLastKnown)
	order := turns.New(informers.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	clients = clients.with(order)
	cache := informers.cache()
	agentAddon := addon.New(opts.AgentImage, clients.kube, cache)
	if opts.Distribution {
		agentAddon.WithDistribution(opts.Namespace)
	}
	works := works{clients.work, clients.addon.AddonV1beta1(), informers.work.Work().V1().ManifestWorks().Lister(), order.Confirmed}
	controllers := newFramework(clients, works, informers, agentAddon, order)
	controllers = append(controllers, frameworkController{Controller: newMirrorCreator(clients.dynamic, informers, clock.RealClock{}), workers: workers})

	ctx, cancel := context.WithCancel(ctx)
	defer informers.shutdown()
	defer cancel()
	informers.start(ctx)
	if err := informers.awaitSync(ctx, cacheTimeout); err != nil || ctx.Err() != nil {
		return err
	}
	removeMetrics, err := fleet.Register(fleet.Source{
		AddOns:   informers.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(),
		Clusters: informers.cluster.Cluster().V1().ManagedClusters().Lister(),
		Clock:    clock.RealClock{}, PerCluster: opts.MetricsPerCluster,
	})
	if err != nil {
		return err
	}
	defer removeMetrics()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { runFramework(ctx, controllers, order) })
	group.Go(func() { newRequestCleaner(clients.kube, informers.kube, clock.RealClock{}).Run(ctx, 1) })
	klog.FromContext(ctx).Info("Started controllers", "addon", manifests.AddonName)
	return rollout.New(rollout.Config{
		AddOns:      informers.addon.Addon().V1beta1().ManagedClusterAddOns().Informer(),
		Works:       informers.work.Work().V1().ManifestWorks().Informer(),
		Configs:     informers.dynamic.ForResource(utils.AddOnDeploymentConfigGVR).Informer(),
		DeployWorks: cache.DeployWorks, Inspect: agentAddon.Inspect, Turns: order,
		AddOnClient: clients.addon.AddonV1beta1(), WorkClient: clients.work.WorkV1(), Clock: clock.RealClock{},
	}).Run(ctx)
}
