package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/addon-framework/pkg/addonmanager"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout"
)

// leaseHealthGrace is how long after its lease has run out a leader that has not
// noticed counts as unhealthy.
const leaseHealthGrace = 20 * time.Second

// Run runs the controller with valid options until ctx ends, which is no error.
func Run(ctx context.Context, opts *Options) error {
	logger := klog.FromContext(ctx)
	info := version.Get()
	logger.Info("Starting "+manifests.ControllerName, "version", info.GitVersion, "commit", info.GitCommit,
		"agentImage", opts.AgentImage)

	config, err := hubConfig(opts)
	if err != nil {
		return err
	}
	if err := awaitHub(ctx, config, opts.StartupTimeout); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	watchdog := leaderelection.NewLeaderHealthzAdaptor(leaseHealthGrace)
	var checks []healthz.HealthChecker
	if opts.LeaderElection.Enabled {
		checks = append(checks, watchdog)
	}
	serverStopped, err := startServer(ctx, opts, checks...)
	if err != nil {
		cancel()
		return err
	}
	err = lead(ctx, config, opts, watchdog, func(ctx context.Context) error {
		return runAddon(ctx, config, opts.AgentImage)
	})
	cancel()
	if serverStopped != nil {
		<-serverStopped
	}
	logger.Info("Stopped")
	return err
}

// runAddon runs addon-framework's controllers with the add-on until ctx ends.
// They start when everything has been read once: a cache without the agents'
// RoleBindings would have them all created anew. The framework offers no way to
// wait for its controllers, which end with the process; the informers that feed
// them are waited for.
func runAddon(ctx context.Context, config *rest.Config, agentImage string) error {
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	informers := newInformers(clients, withLastKnown)
	manager := addonmanager.NewBaseAddonManagerImpl(config)
	cache := informers.cache()
	agentAddon := addon.New(agentImage, clients.kube, cache)
	if err := manager.AddAgent(agentAddon); err != nil {
		return fmt.Errorf("add the agent to the add-on manager: %w", err)
	}
	works := heldWorks{ownedWorks{clients.work, clients.addon.AddonV1beta1()}, informers.work.Work().V1().ManifestWorks().Lister()}

	ctx, cancel := context.WithCancel(ctx)
	defer informers.shutdown()
	defer cancel()
	informers.start(ctx)
	if err := informers.awaitSync(ctx, cacheTimeout); err != nil || ctx.Err() != nil {
		return err
	}
	if err := manager.StartWithInformers(ctx, works, informers.work.Work().V1().ManifestWorks(),
		informers.kube, informers.addon, informers.cluster, informers.dynamic); err != nil {
		return fmt.Errorf("start the add-on manager: %w", err)
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { newRequestCleaner(clients.kube, informers.kube, clock.RealClock{}).Run(ctx, 1) })
	klog.FromContext(ctx).Info("Started the controllers", "addon", manifests.AddonName)
	return rollout.New(rollout.Config{
		AddOns:      informers.addon.Addon().V1beta1().ManagedClusterAddOns().Informer(),
		Works:       informers.work.Work().V1().ManifestWorks().Informer(),
		Configs:     informers.dynamic.ForResource(utils.AddOnDeploymentConfigGVR).Informer(),
		DeployWorks: cache.DeployWorks, Inspect: agentAddon.Inspect,
		AddOnClient: clients.addon.AddonV1beta1(), WorkClient: clients.work.WorkV1(), Clock: clock.RealClock{},
	}).Run(ctx)
}
