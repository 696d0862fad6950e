package syncer

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
)

// envInterval is a part of the environment, as users of the hub of hubs know it.
const envInterval = "HOH_STATUS_SYNC_INTERVAL"

// Program is the program's name; the leader election's lock is made of it.
const Program = "hub-of-hubs-status-sync"

// leaderElectionID is the lock that today's program has, so that ours and it do
// not write at the same time.
const leaderElectionID = "hub-of-hubs-status-sync-lock"

// Options are what the program is told. Only objects of the watched namespaces
// are written.
type Options struct {
	program.Options
	// Interval is how often to look even when nothing is heard, a duration as
	// text, because the environment may hold anything.
	Interval   string
	ScanPeriod time.Duration
	StaleAfter time.Duration
	// Workers is how many objects of a kind are worked on at once.
	Workers int

	interval time.Duration
}

// NewOptions returns the defaults, and what the environment says.
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

// AddFlags adds a flag for each option that the environment alone does not hold.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	flags.StringVar(&o.Interval, "sync-interval", o.Interval, "how often to ask the database what changed, when it has not said so itself (default: $"+envInterval+", or 5s)")
	flags.DurationVar(&o.ScanPeriod, "scan-period", o.ScanPeriod, "within what time everything is looked at once, changed or not")
	flags.DurationVar(&o.StaleAfter, "stale-after", o.StaleAfter, "how old a leaf hub's last heartbeat may be before what it says no longer counts as good")
	flags.IntVar(&o.Workers, "workers", o.Workers, "how many objects of each kind to work on at once")
}

// Validate returns every problem with the options, each with what to do. The
// database's URL is looked at by whoever opens it.
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
		report("--stale-after=%s must be 10s or more, and several times the leaf hubs' heartbeat interval", o.StaleAfter)
	}
	if o.Workers < 1 || o.Workers > 100 {
		report("--workers=%d must be from 1 to 100", o.Workers)
	}
	return errors.Join(errs...)
}

// onlyNamespace is the namespace when there is exactly one. With more of them
// the database is read as a whole, and the watch holds what is written.
func (o *Options) onlyNamespace() string {
	if len(o.WatchNamespaces) == 1 {
		return o.WatchNamespaces[0]
	}
	return ""
}
