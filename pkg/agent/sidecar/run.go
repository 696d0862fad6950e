// Package sidecar is the program klusterlet-addon-lease-controller. It runs beside an
// add-on's container and renews the add-on's lease while the pod works and the
// add-on's credentials for the hub are usable.
//
// Package verdict decides whether the lease may be renewed. This package watches the
// one pod and the one Secret (keeper), has package lease renew with that verdict, and
// reports by log, Events on the pod, health and metrics. It writes nothing but its
// lease and Events.
package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/kubeconfig"
	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
	"open-cluster-management.io/helloworld-addon/pkg/agent/loglevel"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar/verdict"
)

// Program is the name of the program. The sidecar recognizes its own container by it.
const Program = "klusterlet-addon-lease-controller"

// Main parses the command line and runs until ctx ends. It prints the usage or the
// version to out if one of them is requested.
func Main(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	options, err := Parse(args, getenv, out)
	info := version.Get()
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case options.Version:
		_, err := fmt.Fprintf(out, "%s version %s (commit %s)\n", Program, info.GitVersion, info.GitCommit)
		return err
	}
	if err := loglevel.Cap(ctx); err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	logger.Info("Starting "+Program, "version", info.GitVersion, "commit", info.GitCommit,
		"lease", klog.KRef(options.LeaseNamespace, options.LeaseName), "location", options.LeaseLocation,
		"secret", klog.KRef(options.WatchNamespace, options.Secret), "pod", klog.KRef(options.PodNamespace, options.PodName))
	if len(options.Ignored) > 0 {
		logger.Info("Ignored flags of the original program", "flags", options.Ignored, "use", "-"+flagMetricsAddress)
	}
	if options.LeaseLocation == OnManaged && options.LeaseDuration > ocmLongest {
		logger.Info("Found a lease duration that may be too long for OCM", "leaseDuration", options.LeaseDuration,
			"unavailableAfter", ocmPatience)
	}
	// Every cluster renews a lease on the one hub, so no more often than needed.
	return run(ctx, options, options.LeaseDuration)
}

// run renews the lease once per period until ctx ends, and then returns nil. It returns
// an error if it cannot start.
func run(ctx context.Context, options *Options, period time.Duration) error {
	if err := options.Validate(); err != nil {
		return err
	}
	managed, err := managedClient(options.Kubeconfig)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	keeper, err := newKeeper(ctx, options, managed, clock.RealClock{})
	if err != nil {
		return err
	}
	events := report.NewRecorder(ctx, managed.Events(options.PodNamespace), Program)
	defer events.Close()
	metrics := newMetrics(clock.RealClock{}, options.LeaseDuration, keeper.expiry)
	reporter := newReporter(clock.RealClock{}, metrics, func(kind, reason, message string) bool {
		pod := keeper.podReference()
		if pod != nil {
			events.Write(pod, kind, reason, message)
		}
		return pod != nil
	})
	servers, err := httpserver.ListenAll(ctx,
		httpserver.Endpoint{Flag: flagHealthAddress, Address: options.HealthAddress, Handler: httpserver.HealthHandler([]httpserver.Check{
			{Name: "hub-credentials", Err: keeper.credentialsProblem},
			// A pod's readiness must not depend on itself, and an unreachable hub is
			// no reason to remove a pod from its Services.
			{Name: "lease", Err: reporter.leaseProblem, Passed: "renewed", Info: true},
		}, true)},
		httpserver.Endpoint{Flag: flagMetricsAddress, Address: options.MetricsAddress, Handler: httpserver.MetricsHandler(metrics.registry, nil)})
	if err != nil {
		return err
	}
	renewer := newRenewer(options, period, managed, keeper, reporter)
	for _, server := range servers {
		group.Go(func() error { return server.Run(ctx) })
	}
	keeper.start(ctx, group)
	group.Go(func() error { renewer.Run(ctx); return nil })
	err = group.Wait()
	klog.FromContext(ctx).Info("Stopped")
	return err
}

func newRenewer(options *Options, period time.Duration, managed *kubeclient.Client, keeper *keeper, reporter *reporter) *lease.Renewer {
	config := lease.Config{
		Spec: lease.Spec{Namespace: options.LeaseNamespace, Name: options.LeaseName,
			Holder: options.PodName, Duration: options.LeaseDuration},
		Period: period,
		Client: hubLeases{keeper},
		Healthy: func() error {
			if cause := keeper.verdict(); cause != nil {
				return cause
			}
			return nil
		},
		Explain: func(err error) (string, error) {
			cause := verdict.OfRequest(err, options.where())
			return string(cause.Reason), cause
		},
		Renewed: reporter.renewed, Paused: reporter.paused, Clock: clock.RealClock{},
	}
	if options.LeaseLocation == OnManaged {
		config.Client = managed.Leases(options.LeaseNamespace)
	}
	return lease.New(config)
}

// where names the API server that has the lease, for messages.
func (o *Options) where() string {
	if o.LeaseLocation == OnManaged {
		return "the managed cluster"
	}
	return "the hub"
}

func userAgent() string { return Program + "/" + version.Get().GitVersion }

func managedClient(path string) (*kubeclient.Client, error) {
	config, err := kubeconfig.Load(path, "-"+flagKubeconfig, "the managed cluster")
	if err != nil {
		return nil, err
	}
	config.UserAgent = userAgent()
	client, err := kubeclient.New(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the managed cluster: %w", err)
	}
	return client, nil
}
