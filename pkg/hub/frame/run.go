package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// leaseHealthGrace is how long after the end of its lease a leader that has not noticed
// it becomes unhealthy.
const leaseHealthGrace = 20 * time.Second

// Run serves health and metrics, and calls work while this replica holds the program's lease, or at once
// without leader election. The context of work ends with ctx or with the leadership. Run returns when
// work and the server have ended: with work's error, or with errLeadershipLost if the election or work
// ended before ctx.
func Run(ctx context.Context, opts *Options, program string, config *rest.Config, work func(context.Context) error) error {
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
	err = lead(ctx, config, opts, program, watchdog, work)
	cancel()
	if serverStopped != nil {
		<-serverStopped
	}
	klog.FromContext(ctx).Info("Stopped")
	return err
}

// errLeadershipLost ends a controller when another replica may lead.
var errLeadershipLost = errors.New("lost the leadership: another replica may be working")

// lead calls work when this replica holds the lease, with a context that ends with the
// leadership, and returns when work has returned. It releases the lease at the end, so
// that the next replica need not wait.
func lead(ctx context.Context, config *rest.Config, opts *Options, program string, watchdog *leaderelection.HealthzAdaptor,
	work func(context.Context) error) error {
	if !opts.LeaderElection.Enabled {
		return work(ctx)
	}
	lock, err := newLock(config, opts, program)
	if err != nil {
		return err
	}
	leading := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            program,
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

func newLock(config *rest.Config, opts *Options, program string) (resourcelock.Interface, error) {
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
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, opts.Namespace, program,
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
