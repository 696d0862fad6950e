package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// leaseHealthGrace is how long after the end of its lease a leader that has not noticed
// it becomes unhealthy.
const leaseHealthGrace = 20 * time.Second

// Run runs the controller with valid options until ctx ends, and then returns nil.
func Run(ctx context.Context, opts *Options) error {
	logger := klog.FromContext(ctx)
	info := version.Get()
	logger.Info("Starting controller", "version", info.GitVersion, "commit", info.GitCommit,
		"agentImage", opts.AgentImage)

	config, err := hubConfig(opts)
	if err != nil {
		return err
	}
	resources, err := awaitHub(ctx, config, opts.StartupTimeout)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}

	clients, err := newClients(config, resources)
	if err != nil {
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
		return runAddon(ctx, clients, opts.AgentImage)
	})
	cancel()
	if serverStopped != nil {
		<-serverStopped
	}
	logger.Info("Stopped")
	return err
}

// runAddon runs addon-framework's controllers with the add-on, and package rollout's,
// until ctx ends, and returns when they have ended. It starts them when all caches have
// synced: with an empty cache of RoleBindings it would write all of them again.
func runAddon(ctx context.Context, clients *clients, agentImage string) error {
	informers := newInformers(clients, withLastKnown)
	order := turns.New(informers.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	clients = clients.with(order)
	cache := informers.cache()
	agentAddon := addon.New(agentImage, clients.kube, cache)
	works := works{clients.work, clients.addon.AddonV1beta1(), informers.work.Work().V1().ManifestWorks().Lister(), order.Confirmed}
	controllers := newFramework(clients, works, informers, agentAddon)

	ctx, cancel := context.WithCancel(ctx)
	defer informers.shutdown()
	defer cancel()
	informers.start(ctx)
	if err := informers.awaitSync(ctx, cacheTimeout); err != nil || ctx.Err() != nil {
		return err
	}
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

// errLeadershipLost ends a controller when another replica may lead.
var errLeadershipLost = errors.New("lost the leadership: another replica may be working")

// lead calls work when this replica holds the lease, with a context that ends with the
// leadership, and returns when work has returned. It releases the lease at the end, so
// that the next replica need not wait.
func lead(ctx context.Context, config *rest.Config, opts *Options, watchdog *leaderelection.HealthzAdaptor,
	work func(context.Context) error) error {
	if !opts.LeaderElection.Enabled {
		return work(ctx)
	}
	lock, err := newLock(config, opts)
	if err != nil {
		return err
	}
	leading := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            manifests.ControllerName,
		LeaseDuration:   opts.LeaderElection.LeaseDuration,
		RenewDeadline:   opts.LeaderElection.RenewDeadline,
		RetryPeriod:     opts.LeaderElection.RetryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { leading <- ctx },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("set up the leader election: %w", err)
	}
	watchdog.SetLeaderElection(elector)
	klog.FromContext(ctx).Info("Waiting for leadership", "lock", lock.Describe(), "identity", lock.Identity())
	return campaign(ctx, elector.Run, leading, work)
}

// campaign runs the election until ctx ends, the leadership is lost, or work returns.
// It calls work with the context that leading sends, and waits for it in each case.
func campaign(ctx context.Context, elect func(context.Context), leading <-chan context.Context,
	work func(context.Context) error) error {
	electionCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		defer cancel()
		select {
		case workCtx := <-leading:
			result <- work(workCtx)
		case <-over:
			result <- nil
		}
	}()
	elect(electionCtx)
	close(over)
	err := <-result
	if err == nil && ctx.Err() == nil {
		return errLeadershipLost
	}
	return err
}

func newLock(config *rest.Config, opts *Options) (resourcelock.Interface, error) {
	identity, err := replicaIdentity(opts.LeaderElection.Identity)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	// A request that hangs must leave time for a retry before the deadline.
	config.Timeout = opts.LeaderElection.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create the client of the leader election: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, opts.Namespace, manifests.ControllerName,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("create the lock of the leader election: %w", err)
	}
	return lock, nil
}

// replicaIdentity returns the pod's name, or else the host's name with a unique suffix,
// because several replicas may run on one host.
func replicaIdentity(podName string) (string, error) {
	if podName != "" {
		return podName, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("get the host's name: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}
