package reporter

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
)

// Store is the database as the reporter needs it.
type Store interface {
	status.Writer
	// CheckSchema says whether the database answers, and has what is asked for.
	CheckSchema(ctx context.Context) error
	Close()
}

// Open opens the database of a URL. It makes no connection yet.
type Open func(ctx context.Context, url string) (Store, error)

const (
	shutdownTimeout = 20 * time.Second
	checkTimeout    = 3 * time.Second

	// An idle program renews its lock every 5 s, and outlives an API server that
	// is away for 20 s. One that ends gives the lock up; one that dies is replaced
	// after 30 s.
	leaseDuration, renewDeadline, retryPeriod = 30 * time.Second, 20 * time.Second, 5 * time.Second
)

// Run reports until ctx ends, which is no error.
func Run(ctx context.Context, opts *Options, open Open) error {
	logger := klog.FromContext(ctx)
	info := version.Get()
	logger.Info("Starting "+Program, "version", info.GitVersion, "commit", info.GitCommit,
		"leafHub", opts.LeafHubName, "namespaces", opts.WatchNamespaces)
	log.SetLogger(logger)

	config, err := hubConfig(opts.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = opts.KubeAPIQPS, opts.KubeAPIBurst
	config.UserAgent = Program
	store, err := open(ctx, opts.DatabaseURL)
	if err != nil {
		return fmt.Errorf("open the database of $%s: %w", envDatabaseURL, err)
	}
	defer store.Close()
	if err := check(ctx, store); err != nil && ctx.Err() == nil {
		logger.Error(err, "The database is not ready; it is tried again")
	}
	mgr, err := newManager(config, opts, store)
	if err != nil {
		return err
	}
	if err := add(mgr, config, opts, store, clock.RealClock{}); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("run the manager: %w", err)
		}
		// It was told to end, and did not do so in time: an API server that is
		// away keeps its clients waiting.
		logger.Error(err, "Not everything ended in time")
	}
	logger.Info("Stopped")
	return nil
}

// hubConfig is that of a kubeconfig file, or of the cluster in which the program
// runs.
func hubConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("there is no --kubeconfig, and this is no pod of the leaf hub: name a kubeconfig file: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig=%s: %w", kubeconfig, err)
	}
	return config, nil
}

func check(ctx context.Context, store Store) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return store.CheckSchema(ctx)
}

func newManager(config *rest.Config, opts *Options, store Store) (manager.Manager, error) {
	managerOptions := manager.Options{
		LeaderElection:                opts.LeaderElect,
		LeaderElectionID:              leaderElectionID,
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
		managerOptions.Metrics.SecureServing = true
		managerOptions.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	var err error
	if managerOptions.Cache, err = cacheOptions(opts); err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, managerOptions)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the liveness check: %w", err)
	}
	database := func(request *http.Request) error { return check(request.Context(), store) }
	if err := mgr.AddReadyzCheck("database", database); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}

// cacheOptions keep out of the watch what is not reported.
func cacheOptions(opts *Options) (cache.Options, error) {
	notCopied, err := labels.NewRequirement(labelRootPolicy, selection.DoesNotExist, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("select the policies: %w", err)
	}
	policy := &unstructured.Unstructured{}
	policy.SetGroupVersionKind(kinds[status.KindPolicy])
	options := cache.Options{
		DefaultTransform: trim,
		ByObject: map[client.Object]cache.ByObject{
			policy: {Label: labels.NewSelector().Add(*notCopied)},
		},
	}
	if len(opts.WatchNamespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range opts.WatchNamespaces {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options, nil
}

// add adds the reporter to a manager.
func add(mgr manager.Manager, config *rest.Config, opts *Options, store status.Writer, clock clock.WithTicker) error {
	if err := register(metrics.Registry); err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client of the leaf hub: %w", err)
	}
	r := &reporter{
		leafHub: opts.LeafHubName, store: store, objects: mgr.GetCache(), clock: clock,
		interval: opts.Interval, heartbeat: opts.Heartbeat, resync: opts.Resync,
		alive: func(ctx context.Context) error {
			return server.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		},
		dirty: map[status.ObjectRef]bool{}, poke: make(chan struct{}, 1), reported: reported{},
	}
	r.watcher = newWatcher(mgr.GetCache(), clock, r.changed)
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("add the reporter: %w", err)
	}
	return nil
}
