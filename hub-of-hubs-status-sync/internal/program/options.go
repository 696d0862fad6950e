package program

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"open-cluster-management.io/helloworld-addon/internal/commandline"
	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
)

// The environment variables, named as in the original hub-of-hubs-status-sync.
const (
	EnvDatabaseURL    = "DATABASE_URL"
	EnvWatchNamespace = "WATCH_NAMESPACE"
	EnvPodNamespace   = "POD_NAMESPACE"
)

// nowhere is the address that disables an endpoint.
const nowhere = "0"

// Identity names a program in flags and messages.
type Identity struct {
	// Name is the program's name, Lock the name of its leader election's Lease.
	Name, Lock string
	// Hub names the hub on which the program runs, for example "global hub"; Work
	// is its activity as a verb, for example "write".
	Hub, Work string
}

// Options are the options that both programs have.
type Options struct {
	// DatabaseURL contains a password. It is set only by the environment, and no
	// message contains it.
	DatabaseURL string
	// WatchNamespaces limits the program to objects of these namespaces; empty
	// means all namespaces.
	WatchNamespaces []string
	// PodNamespace is the namespace of the leader election's Lease.
	PodNamespace string
	Kubeconfig   string
	// KubeAPIQPS and KubeAPIBurst limit the requests to the hub.
	KubeAPIQPS   float32
	KubeAPIBurst int
	LeaderElect  bool
	MetricsAddr  string
	// MetricsSecure serves metrics by HTTPS, and only to clients that the hub
	// authorizes.
	MetricsSecure bool
	// MetricsCertDir is the directory of the certificate for that, with tls.crt and
	// tls.key; empty means a self-signed one.
	MetricsCertDir string
	ProbeAddr      string
	Logging        *logsapi.LoggingConfiguration

	identity Identity
}

// NewOptions returns the common defaults, overridden by the environment. The
// caller sets the request limits and the address of the metrics.
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

// names splits a comma-separated list.
func names(list string) []string {
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// AddFlags adds a flag for each option that is not set by the environment alone.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	hub := o.identity.Hub
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "a kubeconfig file for the "+hub+"; empty means $KUBECONFIG, the cluster in which the program runs, or ~/.kube/config")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS, "the maximum number of requests per second to the "+hub)
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst, "the maximum burst of requests to the "+hub)
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, o.identity.Work+" only while holding the lock "+o.identity.Lock+" in $"+EnvPodNamespace)
	flags.StringVar(&o.MetricsAddr, "metrics-bind-address", o.MetricsAddr, "the address of the metrics endpoint; 0 disables it")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics by HTTPS, to clients that the "+hub+" authorizes to get /metrics")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", o.MetricsCertDir, "a directory with tls.crt and tls.key, to serve metrics with; empty means a self-signed certificate, which clients cannot verify")
	flags.StringVar(&o.ProbeAddr, "health-probe-bind-address", o.ProbeAddr, "the address of /healthz and /readyz; 0 disables them")
	logsapi.AddFlags(o.Logging, flags)
}

// Problems returns one error for each invalid option, with the correction. The
// store validates the database's URL when it is opened.
func (o *Options) Problems() []error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.DatabaseURL == "" {
		report("$%s is missing: set it to postgres://user:password@host:5432/db?sslmode=verify-full, with the password URL-escaped", EnvDatabaseURL)
	}
	for _, name := range o.WatchNamespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			report("$%s: %q is not a valid namespace name: %s", EnvWatchNamespace, name, strings.Join(problems, "; "))
		}
	}
	if o.LeaderElect && o.PodNamespace == "" {
		report("$%s is missing: set it to the program's own namespace, which holds its Lease, or use --leader-elect=false", EnvPodNamespace)
	}
	for _, served := range []struct{ flag, address string }{
		{"metrics-bind-address", o.MetricsAddr}, {"health-probe-bind-address", o.ProbeAddr},
	} {
		if _, err := flagcheck.Host(served.address); err != nil && served.address != nowhere {
			report("--%s=%q cannot be listened on: %w: give host:port, such as :8081, or %s to disable it", served.flag, served.address, err, nowhere)
		}
	}
	if o.MetricsCertDir != "" {
		if _, err := tls.LoadX509KeyPair(filepath.Join(o.MetricsCertDir, corev1.TLSCertKey), filepath.Join(o.MetricsCertDir, corev1.TLSPrivateKeyKey)); err != nil {
			report("--metrics-cert-dir=%q has no usable tls.crt and tls.key: %w", o.MetricsCertDir, err)
		}
		if !o.MetricsSecure {
			report("--metrics-cert-dir=%q has no effect with --metrics-secure=false: remove one of the two", o.MetricsCertDir)
		}
	}
	errs = append(errs, commandline.CheckRequests(o.KubeAPIQPS, o.KubeAPIBurst)...)
	return append(errs, commandline.CheckLogging(o.Logging)...)
}
