package program

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	shutdownTimeout = 20 * time.Second

	// An idle program renews its lock every 5 s, and outlives an API server that
	// is away for 20 s. One that ends gives the lock up; one that dies is replaced
	// after 30 s.
	leaseDuration, renewDeadline, retryPeriod = 30 * time.Second, 20 * time.Second, 5 * time.Second
)

func newManager(config *rest.Config, opts *Options, held cache.Options, ready healthz.Checker) (manager.Manager, error) {
	mgr, err := manager.New(config, managerOptions(opts, held))
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the liveness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("database", ready); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}

func managerOptions(opts *Options, held cache.Options) manager.Options {
	if len(opts.WatchNamespaces) > 0 {
		held.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range opts.WatchNamespaces {
			held.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	options := manager.Options{
		Cache:                         held,
		LeaderElection:                opts.LeaderElect,
		LeaderElectionID:              opts.identity.Lock,
		LeaderElectionNamespace:       opts.PodNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		RetryPeriod:                   ptr.To(retryPeriod),
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
		HealthProbeBindAddress:        opts.ProbeAddr,
		Metrics:                       metricsserver.Options{BindAddress: opts.MetricsAddr},
	}
	if opts.MetricsSecure {
		options.Metrics.SecureServing = true
		options.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// register adds metrics to those that the manager serves; a second time in one
// process changes nothing.
func register(registry prometheus.Registerer, all []prometheus.Collector) error {
	for _, collector := range all {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	return nil
}
