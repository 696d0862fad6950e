package program

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Store is the database as the frame needs it.
type Store interface {
	// CheckSchema says whether the database answers, and has what is asked for.
	CheckSchema(ctx context.Context) error
	Close()
}

// checkTimeout bounds one question whether the database is ready.
const checkTimeout = 3 * time.Second

// Program is what a program puts into the frame.
type Program[S Store] struct {
	Options *Options
	// Open opens the database of a URL. It makes no connection yet.
	Open func(ctx context.Context, url string) (S, error)
	// Cache says what is held of the hub's objects; of which namespaces is in the
	// options.
	Cache cache.Options
	// Metrics are served beside the manager's.
	Metrics []prometheus.Collector
	// Add adds what does the work to the manager.
	Add func(manager.Manager, S) error
}

// Run runs a program until ctx ends, which is no error. About is what its first
// line says of it, as keys and values.
func Run[S Store](ctx context.Context, program Program[S], about ...any) error {
	logger, opts := klog.FromContext(ctx), program.Options
	info := version.Get()
	about = append([]any{"version", info.GitVersion, "commit", info.GitCommit}, about...)
	logger.Info("Starting "+opts.identity.Name, append(about, "namespaces", opts.WatchNamespaces)...)
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
		logger.Error(err, "The database is not ready; it is tried again")
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
		// It was told to end, and did not do so in time: an API server that is
		// away keeps its clients waiting.
		logger.Error(err, "Not everything ended in time")
	}
	logger.Info("Stopped")
	return nil
}

// hubConfig returns the configuration of the hub's client by kubectl's loading rules: the file of --kubeconfig, else the
// files of $KUBECONFIG, else ~/.kube/config. Without any of them it returns that of the cluster in which the program runs.
// See https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/.
func hubConfig(opts *Options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = opts.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case err == nil:
	case opts.Kubeconfig != "":
		return nil, fmt.Errorf("read --kubeconfig=%s: %w", opts.Kubeconfig, err)
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no configuration of the %s: name a kubeconfig file with --kubeconfig or $%s, or run as a pod of the hub",
			opts.identity.Hub, clientcmd.RecommendedConfigPathEnvVar)
	default:
		return nil, fmt.Errorf("read $%s or ~/.kube/config: %w", clientcmd.RecommendedConfigPathEnvVar, err)
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
