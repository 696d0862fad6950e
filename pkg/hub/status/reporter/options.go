package reporter

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

// The environment. The first three are those of the status sync.
const (
	envDatabaseURL    = "DATABASE_URL"
	envWatchNamespace = "WATCH_NAMESPACE"
	envPodNamespace   = "POD_NAMESPACE"
	envLeafHubName    = "LEAF_HUB_NAME"
)

// Program is the program's name.
const Program = "hub-of-hubs-status-report"

const leaderElectionID = "hub-of-hubs-status-report-lock"

// maxLeafHubName is how long a name the database's tables take.
const maxLeafHubName = 63

// Options are what the program is told.
type Options struct {
	// DatabaseURL has a password: it is only in the environment, and no message
	// shows it.
	DatabaseURL string
	// LeafHubName is what the global hub calls this leaf hub.
	LeafHubName string
	// WatchNamespaces are the only ones whose objects are reported; empty: all.
	WatchNamespaces []string
	// PodNamespace is where the leader election's lock is.
	PodNamespace string
	Kubeconfig   string
	// Interval is the least time between two batches.
	Interval  time.Duration
	Heartbeat time.Duration
	Resync    time.Duration

	KubeAPIQPS    float32
	KubeAPIBurst  int
	LeaderElect   bool
	MetricsAddr   string
	MetricsSecure bool
	ProbeAddr     string
	Logging       *logsapi.LoggingConfiguration
}

// NewOptions returns the defaults, and what the environment says.
func NewOptions() *Options { return newOptions(os.Getenv) }

func newOptions(env func(string) string) *Options {
	o := &Options{
		DatabaseURL:   env(envDatabaseURL),
		LeafHubName:   env(envLeafHubName),
		PodNamespace:  env(envPodNamespace),
		Interval:      200 * time.Millisecond,
		Heartbeat:     10 * time.Second,
		Resync:        time.Hour,
		KubeAPIQPS:    100,
		KubeAPIBurst:  200,
		LeaderElect:   true,
		MetricsAddr:   ":8385",
		MetricsSecure: true,
		ProbeAddr:     ":8081",
		Logging:       logsapi.NewLoggingConfiguration(),
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
	flags.StringVar(&o.LeafHubName, "leaf-hub-name", o.LeafHubName, "what the global hub calls this leaf hub (default: $"+envLeafHubName+")")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "a kubeconfig file for the leaf hub; empty: the cluster in which the program runs")
	flags.DurationVar(&o.Interval, "report-interval", o.Interval, "the least time between two batches; what changes in between is written once")
	flags.DurationVar(&o.Heartbeat, "heartbeat-interval", o.Heartbeat, "how often to say that the leaf hub is there")
	flags.DurationVar(&o.Resync, "resync-period", o.Resync, "how often to compare all that the database has with all that there is")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS, "the most requests per second to the leaf hub")
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst, "the most requests at once to the leaf hub")
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "report only while holding the lock "+leaderElectionID+" in $"+envPodNamespace)
	flags.StringVar(&o.MetricsAddr, "metrics-bind-address", o.MetricsAddr, "where metrics are served; 0: nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics by HTTPS, to those whom the leaf hub authorizes to get /metrics")
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
	if o.LeafHubName == "" {
		report("--leaf-hub-name is missing, and $%s does not say it: give what the global hub calls this leaf hub", envLeafHubName)
	} else if problems := validation.IsDNS1123Label(o.LeafHubName); len(problems) > 0 || len(o.LeafHubName) > maxLeafHubName {
		report("--leaf-hub-name=%q is not a name that the tables take: %s", o.LeafHubName, strings.Join(problems, "; "))
	}
	for _, name := range o.WatchNamespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			report("$%s: %q is not a name of a namespace: %s", envWatchNamespace, name, strings.Join(problems, "; "))
		}
	}
	if o.LeaderElect && o.PodNamespace == "" {
		report("$%s is missing: set it to the program's own namespace, where its lock is, or use --leader-elect=false", envPodNamespace)
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
