package syncer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// The environment, as users of the hub of hubs know it.
const (
	envDatabaseURL    = "DATABASE_URL"
	envWatchNamespace = "WATCH_NAMESPACE"
	envPodNamespace   = "POD_NAMESPACE"
	envInterval       = "HOH_STATUS_SYNC_INTERVAL"
)

// Program is the program's name; the leader election's lock is made of it.
const Program = "hub-of-hubs-status-sync"

// leaderElectionID is the lock that today's program has, so that ours and it do
// not write at the same time.
const leaderElectionID = "hub-of-hubs-status-sync-lock"

// Options are what the program is told.
type Options struct {
	// DatabaseURL has a password: it is only in the environment, and no message
	// shows it.
	DatabaseURL string
	// WatchNamespaces are the only ones whose objects are written; empty: all.
	WatchNamespaces []string
	// PodNamespace is where the leader election's lock is.
	PodNamespace string
	Kubeconfig   string
	// Interval is how often to look even when nothing is heard, a duration as
	// text, because the environment may hold anything.
	Interval   string
	ScanPeriod time.Duration
	StaleAfter time.Duration
	// Workers is how many objects of a kind are worked on at once.
	Workers      int
	KubeAPIQPS   float32
	KubeAPIBurst int
	LeaderElect  bool
	MetricsAddr  string
	// MetricsSecure: HTTPS, and only for whom the hub authorizes.
	MetricsSecure bool
	ProbeAddr     string
	Logging       *logsapi.LoggingConfiguration

	interval time.Duration
}

// NewOptions returns the defaults, and what the environment says.
func NewOptions() *Options {
	return newOptions(os.Getenv)
}

func newOptions(env func(string) string) *Options {
	o := &Options{
		DatabaseURL:   env(envDatabaseURL),
		PodNamespace:  env(envPodNamespace),
		Interval:      "5s",
		ScanPeriod:    time.Hour,
		StaleAfter:    5 * time.Minute,
		Workers:       4,
		KubeAPIQPS:    500,
		KubeAPIBurst:  1000,
		LeaderElect:   true,
		MetricsAddr:   ":8384",
		MetricsSecure: true,
		ProbeAddr:     ":8081",
		Logging:       logsapi.NewLoggingConfiguration(),
	}
	if interval := env(envInterval); interval != "" {
		o.Interval = interval
	}
	for name := range strings.SplitSeq(env(envWatchNamespace), ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.WatchNamespaces = append(o.WatchNamespaces, name)
		}
	}
	return o
}

// AddFlags adds a flag for each option that the environment alone does not hold.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "a kubeconfig file for the global hub; empty: the cluster in which the program runs")
	flags.StringVar(&o.Interval, "sync-interval", o.Interval, "how often to ask the database what changed, when it has not said so itself (default: $"+envInterval+", or 5s)")
	flags.DurationVar(&o.ScanPeriod, "scan-period", o.ScanPeriod, "within what time everything is looked at once, changed or not")
	flags.DurationVar(&o.StaleAfter, "stale-after", o.StaleAfter, "how old a leaf hub's last heartbeat may be before what it says no longer counts as good")
	flags.IntVar(&o.Workers, "workers", o.Workers, "how many objects of each kind to work on at once")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS, "the most requests per second to the global hub")
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst, "the most requests at once to the global hub")
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "write only while holding the lock "+leaderElectionID+" in $"+envPodNamespace)
	flags.StringVar(&o.MetricsAddr, "metrics-bind-address", o.MetricsAddr, "where metrics are served; 0: nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics by HTTPS, to those whom the global hub authorizes to get /metrics")
	flags.StringVar(&o.ProbeAddr, "health-probe-bind-address", o.ProbeAddr, "where /healthz and /readyz are served; 0: nowhere")
	logsapi.AddFlags(o.Logging, flags)
}

// Validate returns every problem with the options, each with what to do. The
// database's URL is looked at by whoever opens it.
func (o *Options) Validate() error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.DatabaseURL == "" {
		report("$%s is missing: set it to postgres://user:password@host:5432/db?sslmode=verify-full, with the password URL-escaped", envDatabaseURL)
	}
	for _, name := range o.WatchNamespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			report("$%s: %q is not a name of a namespace: %s", envWatchNamespace, name, strings.Join(problems, "; "))
		}
	}
	if o.LeaderElect && o.PodNamespace == "" {
		report("$%s is missing: set it to the program's own namespace, where its lock is, or use --leader-elect=false", envPodNamespace)
	}
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
	if o.KubeAPIQPS <= 0 {
		report("--kube-api-qps=%g must be above 0", o.KubeAPIQPS)
	}
	if o.KubeAPIBurst < 1 {
		report("--kube-api-burst=%d must be 1 or more", o.KubeAPIBurst)
	}
	for _, err := range logsapi.Validate(o.Logging, nil, field.NewPath("logging")) {
		errs = append(errs, err)
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
