package syncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/commandline"
)

// Program is the program's name.
const Program = "hub-of-hubs-status-sync"

// leaderElectionID is the name of the leader election's Lease. The original
// hub-of-hubs-status-sync has the same, so that only one of the two writes at a
// time.
const leaderElectionID = "hub-of-hubs-status-sync-lock"

// envInterval is an environment variable of the original hub-of-hubs-status-sync.
const envInterval = "HOH_STATUS_SYNC_INTERVAL"

// Store is the part of the database that the syncer uses.
type Store interface {
	source
	program.Store
	// CheckReadable returns an error if the database does not answer, or if no kind can be read from it. A database that
	// is not migrated is no error.
	CheckReadable(ctx context.Context) error
}

// readable is a Store that needs no migration to be ready.
type readable struct{ Store }

// CheckSchema implements program.Store.
func (r readable) CheckSchema(ctx context.Context) error { return r.CheckReadable(ctx) }

// Open opens the database at a URL, limited to a namespace; an empty namespace
// means all. It does not connect yet.
type Open func(ctx context.Context, url, namespace string) (Store, error)

// Migrate migrates the schema of the database at a URL, or removes the migrations, as the tables' owner.
type Migrate func(ctx context.Context, url string) error

// NewCommand returns the program's command line. The caller prints its errors:
// each is one message, and none contains the password.
func NewCommand(open Open, migrate, unmigrate Migrate) *cobra.Command {
	opts := NewOptions()
	command := commandline.New(commandline.Program{
		Name:  Program,
		Short: "Sync the status of the global hub's objects from a hub of hubs' database",
		Long: "Runs on the global hub of a hub of hubs: reads the rows that the leaf hubs wrote into PostgreSQL, and writes the status " +
			"of policies, placements, subscriptions and the add-on. It reads the environment variables " + program.EnvDatabaseURL + ", " +
			program.EnvWatchNamespace + " (empty means all namespaces) and " + program.EnvPodNamespace + ".",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts, open) })
	command.AddCommand(
		newMigrateCommand(opts, migrate, "migrate", "Create or update the tables and roles in the database of $"+program.EnvDatabaseURL+", as the tables' owner"),
		newMigrateCommand(opts, unmigrate, "unmigrate", "Remove from the database of $"+program.EnvDatabaseURL+", as the tables' owner, what migrate added to the tables of hub-of-hubs: "+
			"the change log, triggers, functions, the indexes that use them, and status.managedclusteraddons with its rows"))
	return command
}

// newMigrateCommand returns the command migrate or unmigrate. They are separate because they need
// the database user that owns the tables; the status sync runs as another user,
// which can only read.
func newMigrateCommand(opts *Options, migrate Migrate, name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if opts.DatabaseURL == "" {
				return errors.New("$" + program.EnvDatabaseURL + " is missing: set it to the URL of the database with the tables' owner as user")
			}
			return migrate(command.Context(), opts.DatabaseURL)
		},
	}
}

// Options are the program's options. Only objects of the watched namespaces are
// written.
type Options struct {
	program.Options
	// Interval is the interval of polls without a notification. It is text, because
	// the environment variable can have any value; Validate parses it.
	Interval   string
	ScanPeriod time.Duration
	StaleAfter time.Duration
	// Workers is the number of concurrent syncs of one kind.
	Workers int

	interval time.Duration
	// ignored are the flags of the original that were set and have no effect.
	ignored []string
}

// NewOptions returns the defaults, overridden by the environment.
func NewOptions() *Options {
	return newOptions(os.Getenv)
}

func newOptions(env func(string) string) *Options {
	o := &Options{
		Options:    program.NewOptions(program.Identity{Name: Program, Lock: leaderElectionID, Hub: "global hub", Work: "write"}, env),
		Interval:   "5s",
		ScanPeriod: time.Hour,
		StaleAfter: 5 * time.Minute,
		Workers:    4,
	}
	o.KubeAPIQPS, o.KubeAPIBurst, o.MetricsAddr = 500, 1000, ":8384"
	if interval := env(envInterval); interval != "" {
		o.Interval = interval
	}
	return o
}

// AddFlags adds a flag for each option that is not set by the environment alone.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	flags.StringVar(&o.Interval, "sync-interval", o.Interval, "how often to poll the database without a notification (default: $"+envInterval+", or 5s)")
	flags.DurationVar(&o.ScanPeriod, "scan-period", o.ScanPeriod, "the time in which every object is synced once, even if nothing changed")
	flags.DurationVar(&o.StaleAfter, "stale-after", o.StaleAfter, "how long after its last heartbeat a leaf hub is stale, and the good states that it reported no longer count: this, or three of the intervals that its writer states, whichever is longer; a leaf hub whose writer states none is never stale")
	flags.IntVar(&o.Workers, "workers", o.Workers, "the number of concurrent syncs of each kind")
	addOriginalFlags(flags, o.Logging, &o.ignored)
}

// Validate returns one error for each invalid option, with the correction. The
// store validates the database's URL when it is opened.
func (o *Options) Validate() error {
	errs := o.Problems()
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	interval, err := time.ParseDuration(o.Interval)
	if err != nil || interval < 100*time.Millisecond {
		report("--sync-interval=%q (or $%s) must be a duration of 100ms or more, for example 5s", o.Interval, envInterval)
	}
	o.interval = interval
	if o.ScanPeriod < time.Minute {
		report("--scan-period=%s must be 1m or more", o.ScanPeriod)
	}
	if o.StaleAfter < 10*time.Second {
		report("--stale-after=%s must be 10s or more", o.StaleAfter)
	}
	if o.Workers < 1 || o.Workers > 100 {
		report("--workers=%d must be from 1 to 100", o.Workers)
	}
	return errors.Join(errs...)
}

// onlyNamespace returns the watched namespace if there is exactly one. With several
// namespaces the rows of all namespaces are read, and the cache limits the writes.
func (o *Options) onlyNamespace() string {
	if len(o.WatchNamespaces) == 1 {
		return o.WatchNamespaces[0]
	}
	return ""
}

// Run syncs until ctx ends, which is not an error.
func Run(ctx context.Context, opts *Options, open Open) error {
	if len(opts.ignored) > 0 {
		klog.FromContext(ctx).Info("Ignored flags of the original "+Program, "flags", opts.ignored)
	}
	return program.Run(ctx, program.Program[readable]{
		Options: &opts.Options,
		Open: func(ctx context.Context, url string) (readable, error) {
			store, err := open(ctx, url, opts.onlyNamespace())
			return readable{store}, err
		},
		Metrics: collectors,
		Add:     func(mgr manager.Manager, store readable) error { return add(mgr, opts, store, clock.RealClock{}) },
	}, "interval", opts.Interval)
}

// add adds the feed and a syncer for each kind to the manager.
func add(mgr manager.Manager, opts *Options, store source, clock clock.WithTicker) error {
	entries := status.Entries()
	kinds := make([]status.Kind, 0, len(entries))
	for _, entry := range entries {
		kinds = append(kinds, entry.Kind)
	}
	keys := newKeys(clock, opts.StaleAfter, kinds...)
	recorder, err := program.NewEventRecorder(mgr, Program)
	if err != nil {
		return err
	}
	shared := kindSyncer{
		store: store, live: mgr.GetAPIReader(), writer: mgr.GetClient(), caches: mgr.GetCache(),
		recorder: recorder, clock: clock, workers: opts.Workers, namespaces: opts.WatchNamespaces,
	}
	for _, entry := range entries {
		if err := mgr.Add(newKindSyncer(entry, keys, shared)); err != nil {
			return fmt.Errorf("add the syncer of %s: %w", entry.Kind, err)
		}
	}
	if opts.PodNamespace != "" {
		if err := mgr.Add(&propagatorCheck{reader: mgr.GetAPIReader(), namespace: opts.PodNamespace, clock: clock}); err != nil {
			return fmt.Errorf("add the check of the policy propagator: %w", err)
		}
	}
	if err := mgr.Add(newFeed(store, keys, clock, opts.interval, opts.ScanPeriod)); err != nil {
		return fmt.Errorf("add the feed: %w", err)
	}
	return nil
}
