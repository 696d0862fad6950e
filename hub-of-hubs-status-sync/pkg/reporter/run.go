package reporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/commandline"
)

// envLeafHubName is the environment variable that only the status report has.
const envLeafHubName = "LEAF_HUB_NAME"

// Program is the program's name.
const Program = "hub-of-hubs-status-report"

const leaderElectionID = "hub-of-hubs-status-report-lock"

// maxLeafHubName is the length of the column leaf_hub_name.
const maxLeafHubName = 63

// Store is the part of the database that the reporter uses.
type Store interface {
	status.Writer
	program.Store
}

// Open opens the database at a URL. It does not connect yet.
type Open func(ctx context.Context, url string) (Store, error)

// NewCommand returns the program's command line. The caller prints its errors:
// each is one message, and none contains the password.
func NewCommand(open Open) *cobra.Command {
	opts := NewOptions()
	return commandline.New(commandline.Program{
		Name:  Program,
		Short: "Report a leaf hub's status into a hub of hubs' database",
		Long: "Runs on a leaf hub of a hub of hubs: watches policies, placements, subscriptions, managed clusters and the add-on, " +
			"and writes them as the leaf hub's rows into PostgreSQL. It reads the environment variables " + program.EnvDatabaseURL + ", " +
			envLeafHubName + ", " + program.EnvWatchNamespace + " (empty means all namespaces) and " + program.EnvPodNamespace + ".",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts, open) })
}

// Options are the program's options. Only objects of the watched namespaces are
// reported.
type Options struct {
	program.Options
	// LeafHubName is the leaf hub's name on the global hub.
	LeafHubName string
	// Interval is the minimum time between two batches.
	Interval  time.Duration
	Heartbeat time.Duration
	Resync    time.Duration
}

// NewOptions returns the defaults, overridden by the environment.
func NewOptions() *Options { return newOptions(os.Getenv) }

func newOptions(env func(string) string) *Options {
	o := &Options{
		Options:     program.NewOptions(program.Identity{Name: Program, Lock: leaderElectionID, Hub: "leaf hub", Work: "report"}, env),
		LeafHubName: env(envLeafHubName),
		Interval:    200 * time.Millisecond,
		Heartbeat:   10 * time.Second,
		Resync:      time.Hour,
	}
	o.KubeAPIQPS, o.KubeAPIBurst, o.MetricsAddr = 100, 200, ":8385"
	return o
}

// AddFlags adds a flag for each option that is not set by the environment alone.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	flags.StringVar(&o.LeafHubName, "leaf-hub-name", o.LeafHubName, "the name of this leaf hub on the global hub (default: $"+envLeafHubName+")")
	flags.DurationVar(&o.Interval, "report-interval", o.Interval, "the minimum time between two batches; several changes of an object in between are written once")
	flags.DurationVar(&o.Heartbeat, "heartbeat-interval", o.Heartbeat, "the interval of heartbeats")
	flags.DurationVar(&o.Resync, "resync-period", o.Resync, "how often to compare the whole database with the leaf hub")
}

// Validate returns one error for each invalid option, with the correction. The
// store validates the database's URL when it is opened.
func (o *Options) Validate() error {
	errs := o.Problems()
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.LeafHubName == "" {
		report("--leaf-hub-name (or $%s) is missing: set it to the name of this leaf hub on the global hub", envLeafHubName)
	} else if problems := validation.IsDNS1123Label(o.LeafHubName); len(problems) > 0 || len(o.LeafHubName) > maxLeafHubName {
		report("--leaf-hub-name=%q is not valid: %s", o.LeafHubName, strings.Join(problems, "; "))
	}
	if o.Interval < time.Millisecond {
		report("--report-interval=%s must be 1ms or more, for example 200ms", o.Interval)
	}
	if o.Heartbeat < time.Second {
		report("--heartbeat-interval=%s must be 1s or more, for example 10s", o.Heartbeat)
	}
	if o.Resync < time.Minute {
		report("--resync-period=%s must be 1m or more, for example 1h", o.Resync)
	}
	return errors.Join(errs...)
}

// Run reports until ctx ends, which is not an error.
func Run(ctx context.Context, opts *Options, open Open) error {
	return program.Run(ctx, program.Program[Store]{
		Options: &opts.Options,
		Open:    open,
		Cache:   cache.Options{DefaultTransform: plan.Trim},
		Metrics: collectors,
		Add:     func(mgr manager.Manager, store Store) error { return add(mgr, opts, store, clock.RealClock{}) },
	}, "leafHub", opts.LeafHubName)
}

// add adds the reporter to the manager.
func add(mgr manager.Manager, opts *Options, store status.Writer, clock clock.WithTicker) error {
	held, err := newCaches(mgr, opts.WatchNamespaces)
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("create a client of the leaf hub: %w", err)
	}
	r := newReporter(opts, store, held, clock)
	r.alive = func(ctx context.Context) error {
		return server.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	r.watcher = newWatcher(held, clock, r.changed)
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("add the reporter: %w", err)
	}
	return nil
}

const namespace, subsystem = "hub_of_hubs", "status_report"

// The program's metrics.
var (
	pending = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "pending_objects", Help: "Changed objects that are not written yet."})
	batches = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "batches_total", Help: "Batches written to the database."})
	rows = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "rows_total", Help: "Rows written or removed."}, []string{"change"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "errors_total", Help: "Failures by reason: database, object (it cannot be encoded), rejected (the database " +
			"rejects an entry), heartbeat."}, []string{"reason"})
)

var collectors = []prometheus.Collector{pending, batches, rows, failures}
