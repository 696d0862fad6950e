package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
	"open-cluster-management.io/helloworld-addon/pkg/agent/loglevel"
)

// Main is the program: it reads the command line and runs until ctx ends. What
// was asked for, the usage or the version, goes to out.
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
	klog.FromContext(ctx).Info("Starting "+Program, "version", info.GitVersion, "commit", info.GitCommit,
		"lease", klog.KRef(options.LeaseNamespace, options.LeaseName), "location", options.LeaseLocation,
		"secret", klog.KRef(options.WatchNamespace, options.Secret), "pod", klog.KRef(options.PodNamespace, options.PodName))
	return Run(ctx, options)
}

// Run keeps the lease until ctx ends, and returns nil then. It returns an error
// when it cannot begin: afterwards nothing makes it end.
func Run(ctx context.Context, options *Options) error {
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
	defer keeper.hub.close()
	metrics := newMetrics(clock.RealClock{}, keeper.expiry)
	events := newEvents(ctx, managed.Events(options.PodNamespace),
		types.NamespacedName{Namespace: options.PodNamespace, Name: options.PodName}, keeper.podUID)
	defer events.close()
	reporter := newReporter(clock.RealClock{}, metrics, events.write)
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
	renewer := newRenewer(options, managed, keeper, reporter)
	for _, server := range servers {
		group.Go(func() error { return server.Run(ctx) })
	}
	group.Go(func() error { keeper.run(); return nil })
	group.Go(func() error { renewer.Run(ctx); return nil })
	err = group.Wait()
	klog.FromContext(ctx).Info("Stopped")
	return err
}

func newRenewer(options *Options, managed *kubeclient.Client, keeper *keeper, reporter *reporter) *lease.Renewer {
	config := lease.Config{
		Spec: lease.Spec{Namespace: options.LeaseNamespace, Name: options.LeaseName,
			Holder: options.PodName, Duration: options.LeaseDuration},
		Client: keeper.hub,
		Healthy: func() error {
			if cause := keeper.verdict(); cause != nil {
				return cause
			}
			return nil
		},
		Explain: func(err error) (string, error) {
			cause := Classify(err, options.where())
			return string(cause.Reason), cause
		},
		Renewed: reporter.renewed, Paused: reporter.say, Clock: clock.RealClock{},
	}
	if options.LeaseLocation == OnManaged {
		config.Client = managed.Leases(options.LeaseNamespace)
	}
	return lease.New(config)
}

// where names the API server with the lease, for people.
func (o *Options) where() string {
	if o.LeaseLocation == OnManaged {
		return "the managed cluster"
	}
	return "the hub"
}

func managedClient(kubeconfig string) (*kubeclient.Client, error) {
	config, err := managedConfig(kubeconfig)
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

func managedConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("-%s: read %s: %s", flagKubeconfig, kubeconfig, oneLine(err.Error()))
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("this is no pod: give the managed cluster's kubeconfig by -%s", flagKubeconfig)
	case err != nil:
		return nil, fmt.Errorf("read the pod's service account: %w", err)
	default:
		return config, nil
	}
}
