package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/helloworld-addon/internal/kubeconfig"
)

const (
	// checkTimeout limits one readiness check of the database.
	checkTimeout = 3 * time.Second

	shutdownTimeout = 20 * time.Second

	// The leader renews its Lease every 5 s, and stays leader while the API server
	// is unavailable for less than 20 s. A program that stops releases the Lease;
	// one that crashes is replaced after 30 s.
	leaseDuration, renewDeadline, retryPeriod = 30 * time.Second, 20 * time.Second, 5 * time.Second
)

// Store is the part of the database that the frame uses.
type Store interface {
	// CheckSchema returns an error if the database does not answer, or if its
	// schema is not the one that the program needs.
	CheckSchema(ctx context.Context) error
	Close()
}

// Program holds the parts in which the programs differ.
type Program[S Store] struct {
	Options *Options
	// Open opens the database at a URL. It does not connect yet.
	Open func(ctx context.Context, url string) (S, error)
	// Cache configures the manager's cache; Run adds the watched namespaces.
	Cache cache.Options
	// Metrics are served together with the manager's own.
	Metrics []prometheus.Collector
	// Add adds the program's runnables to the manager.
	Add func(manager.Manager, S) error
}

// Run runs a program until ctx ends, which is not an error. About are keys and
// values for the program's first log line.
func Run[S Store](ctx context.Context, program Program[S], about ...any) error {
	logger, opts := klog.FromContext(ctx), program.Options
	info := version.Get()
	about = append([]any{"version", info.GitVersion, "commit", info.GitCommit}, about...)
	logger.Info("Starting "+opts.identity.Name, append(about, "namespaces", cmp.Or(strings.Join(opts.WatchNamespaces, ","), "all"))...)
	log.SetLogger(logger)

	config, err := hubConfig(opts)
	if err != nil {
		return err
	}
	store, err := program.Open(ctx, opts.DatabaseURL)
	if err != nil {
		return fmt.Errorf("open the database of $%s: %w", EnvDatabaseURL, err)
	}
	defer store.Close()
	if err := check(ctx, store); err != nil && ctx.Err() == nil {
		logger.Error(err, "Database is not ready, retrying")
	}
	if err := register(metrics.Registry, program.Metrics); err != nil {
		return err
	}
	ready := func(request *http.Request) error { return check(request.Context(), store) }
	mgr, err := newManager(config, opts, program.Cache, ready)
	if err != nil {
		return err
	}
	if err := program.Add(mgr, store); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("run the manager: %w", err)
		}
		// The manager was stopped, and exceeded its shutdown timeout: the clients of
		// an unavailable API server return late.
		logger.Error(err, "Stopped before all runnables had returned")
	}
	logger.Info("Stopped")
	return nil
}

// hubConfig returns the configuration of the clients of the hub.
func hubConfig(opts *Options) (*rest.Config, error) {
	config, err := kubeconfig.Load(opts.Kubeconfig, "--kubeconfig", "the "+opts.identity.Hub)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = opts.KubeAPIQPS, opts.KubeAPIBurst
	config.UserAgent = opts.identity.Name
	return config, nil
}

func check(ctx context.Context, store Store) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return store.CheckSchema(ctx)
}

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
		Metrics:                       metricsserver.Options{BindAddress: opts.MetricsAddr, CertDir: opts.MetricsCertDir},
	}
	if opts.MetricsSecure {
		options.Metrics.SecureServing = true
		options.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// register adds the collectors to the manager's metrics. A collector that is
// already registered is skipped, so that tests can run a program twice in one
// process.
func register(registry prometheus.Registerer, all []prometheus.Collector) error {
	for _, collector := range all {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	return nil
}
