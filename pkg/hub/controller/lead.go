package controller

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// errLeadershipLost ends a controller that may no longer be the only one.
var errLeadershipLost = errors.New("lost the leadership: another replica may be working")

// lead calls work when this replica holds the lease, with a context that ends
// with the leadership, and returns when work has returned. It gives the lease up
// at the end, so that the next replica need not wait.
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
	klog.FromContext(ctx).Info("Waiting for the leadership", "lock", lock.Describe(), "identity", lock.Identity())
	return campaign(ctx, elector.Run, leading, work)
}

// campaign runs the election until it is over: because ctx has ended, because
// the leadership was lost, or because work, which begins when leading sends its
// context, has ended. It waits for work in each case.
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
	// A request that hangs must leave time for another one.
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

// replicaIdentity is the pod's name, or else the host's name with something
// unique, because several replicas may run on one host.
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
