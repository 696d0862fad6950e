package program

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	logsapi "k8s.io/component-base/logs/api/v1"

	"open-cluster-management.io/helloworld-addon/internal/commandline"
	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
)

// The environment, as users of the hub of hubs know it.
const (
	EnvDatabaseURL    = "DATABASE_URL"
	EnvWatchNamespace = "WATCH_NAMESPACE"
	EnvPodNamespace   = "POD_NAMESPACE"
)

// nowhere is the address of what is not served.
const nowhere = "0"

// Identity is what tells one program from the other.
type Identity struct {
	// Name is the program's name, Lock that of its leader election's lock.
	Name, Lock string
	// Hub is what users call the hub that it runs on, and Work what it does
	// there: for example global hub, and write.
	Hub, Work string
}

// Options are what both programs are told.
type Options struct {
	// DatabaseURL has a password: it is only in the environment, and no message
	// shows it.
	DatabaseURL string
	// WatchNamespaces are the only ones whose objects count; empty: all.
	WatchNamespaces []string
	// PodNamespace is where the leader election's lock is.
	PodNamespace string
	Kubeconfig   string
	// KubeAPIQPS and KubeAPIBurst limit the requests to the hub.
	KubeAPIQPS   float32
	KubeAPIBurst int
	LeaderElect  bool
	MetricsAddr  string
	// MetricsSecure: HTTPS, and only for whom the hub authorizes.
	MetricsSecure bool
	ProbeAddr     string
	Logging       *logsapi.LoggingConfiguration

	identity Identity
}

// NewOptions returns the defaults that both programs have, and what the
// environment says. The limits of requests and the address of the metrics are
// the caller's.
func NewOptions(identity Identity, env func(string) string) Options {
	return Options{
		DatabaseURL:     env(EnvDatabaseURL),
		WatchNamespaces: names(env(EnvWatchNamespace)),
		PodNamespace:    env(EnvPodNamespace),
		LeaderElect:     true,
		MetricsSecure:   true,
		ProbeAddr:       ":8081",
		Logging:         logsapi.NewLoggingConfiguration(),
		identity:        identity,
	}
}

// names are those of a list with commas.
func names(list string) []string {
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// AddFlags adds a flag for each option that the environment alone does not hold.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	hub := o.identity.Hub
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "a kubeconfig file for the "+hub+"; empty: $KUBECONFIG, ~/.kube/config, or the cluster in which the program runs")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS, "the most requests per second to the "+hub)
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst, "the most requests at once to the "+hub)
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, o.identity.Work+" only while holding the lock "+o.identity.Lock+" in $"+EnvPodNamespace)
	flags.StringVar(&o.MetricsAddr, "metrics-bind-address", o.MetricsAddr, "where metrics are served; 0: nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics by HTTPS, to those whom the "+hub+" authorizes to get /metrics")
	flags.StringVar(&o.ProbeAddr, "health-probe-bind-address", o.ProbeAddr, "where /healthz and /readyz are served; 0: nowhere")
	logsapi.AddFlags(o.Logging, flags)
}

// Problems returns everything that is wrong with the options, each with what to
// do. The database's URL is looked at by whoever opens it.
func (o *Options) Problems() []error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.DatabaseURL == "" {
		report("$%s is missing: set it to postgres://user:password@host:5432/db?sslmode=verify-full, with the password URL-escaped", EnvDatabaseURL)
	}
	for _, name := range o.WatchNamespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			report("$%s: %q is not a name of a namespace: %s", EnvWatchNamespace, name, strings.Join(problems, "; "))
		}
	}
	if o.LeaderElect && o.PodNamespace == "" {
		report("$%s is missing: set it to the program's own namespace, where its lock is, or use --leader-elect=false", EnvPodNamespace)
	}
	for _, served := range []struct{ flag, address string }{
		{"metrics-bind-address", o.MetricsAddr}, {"health-probe-bind-address", o.ProbeAddr},
	} {
		if _, err := flagcheck.Host(served.address); err != nil && served.address != nowhere {
			report("--%s=%q cannot be listened on: %w: give host:port, such as :8081, or %s for nowhere", served.flag, served.address, err, nowhere)
		}
	}
	errs = append(errs, commandline.CheckRequests(o.KubeAPIQPS, o.KubeAPIBurst)...)
	return append(errs, commandline.CheckLogging(o.Logging)...)
}
