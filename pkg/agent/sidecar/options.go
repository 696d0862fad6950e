package sidecar

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
	"open-cluster-management.io/helloworld-addon/pkg/agent/loglevel"
)

// Location is the cluster that has the lease.
type Location string

const (
	// OnHub is the hub. The add-on's credentials give access to it.
	OnHub Location = "hub"
	// OnManaged is the managed cluster. OCM's registration agent reads add-ons' leases
	// there, in the install namespace. See
	// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/lease_controller.go
	OnManaged Location = "managed"
)

// Names of the flags, without the dashes.
const (
	flagLeaseName      = "lease-name"
	flagLeaseNamespace = "lease-namespace"
	flagSecret         = "hub-kubeconfig-secret"
	flagLeaseDuration  = "lease-duration"
	flagStartupDelay   = "startup-delay"
	flagLeaseLocation  = "lease-location"
	flagHealthAddress  = "health-bind-address"
	flagMetricsAddress = "metrics-bind-address"
	flagKubeconfig     = "kubeconfig"
	flagVersion        = "version"
)

// Flags of the original klusterlet-addon-lease-controller without an effect here. See
// https://github.com/open-cluster-management/klusterlet-addon-lease-controller
const (
	flagMetricsHost = "metrics-host"
	flagMetricsPort = "metrics-port"
)

// Names of the environment variables.
const (
	envWatchNamespace = "WATCH_NAMESPACE"
	envPodName        = "POD_NAME"
	envPodNamespace   = "POD_NAMESPACE"
)

// Options holds the sidecar's flags and environment.
type Options struct {
	// LeaseName is the name of the lease. OCM expects the name of the add-on.
	LeaseName string
	// LeaseNamespace is the namespace of the lease at LeaseLocation. With OnManaged
	// its default is WatchNamespace.
	LeaseNamespace string
	LeaseLocation  Location
	// Secret is the name of the Secret with the hub's kubeconfig. With OnManaged it
	// may be empty, and then no Secret is read.
	Secret string
	// LeaseDuration is the duration in the lease, and the time between two renewals.
	LeaseDuration time.Duration
	// StartupDelay is the time after the start without a lease.
	StartupDelay time.Duration
	// HealthAddress and MetricsAddress are addresses to listen on, or
	// httpserver.Off.
	HealthAddress, MetricsAddress string
	// Kubeconfig is a file for the managed cluster, to run by hand. Package kubeconfig
	// has the rules for an empty one.
	Kubeconfig string
	// Ignored has the given flags that have no effect.
	Ignored []string
	// Version requests the version only.
	Version bool

	// WatchNamespace is the namespace of the Secret.
	WatchNamespace string
	// PodName and PodNamespace name the pod whose readiness counts.
	PodName, PodNamespace string
}

// The default ports are uncommon, because the containers of a pod share their ports.
const (
	defaultHealthAddress  = ":8681"
	defaultMetricsAddress = "localhost:8680"
)

// Parse returns the options from the command line, with one dash or two, and the
// environment. For -help it prints the usage to out and returns flag.ErrHelp.
func Parse(args []string, getenv func(string) string, out io.Writer) (*Options, error) {
	o := &Options{LeaseDuration: 60 * time.Second, StartupDelay: 10 * time.Second, LeaseLocation: OnHub,
		WatchNamespace: getenv(envWatchNamespace), PodName: getenv(envPodName), PodNamespace: getenv(envPodNamespace)}
	flags := o.flags()
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(out)
			usage(flags, out)
			return nil, err
		}
		return nil, fmt.Errorf("%w; see %s -help", err, Program)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see %s -help", flags.Arg(0), Program)
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Name == flagMetricsHost || f.Name == flagMetricsPort {
			o.Ignored = append(o.Ignored, "-"+f.Name)
		}
	})
	o.complete()
	return o, nil
}

// complete sets the defaults that depend on other options.
func (o *Options) complete() {
	if o.WatchNamespace == "" {
		o.WatchNamespace = o.PodNamespace
	}
	if o.PodNamespace == "" {
		o.PodNamespace = o.WatchNamespace
	}
	switch o.LeaseLocation {
	case OnManaged:
		if o.LeaseNamespace == "" {
			o.LeaseNamespace = o.WatchNamespace
		}
	case OnHub:
		if o.Secret == "" && o.LeaseName != "" {
			o.Secret = o.LeaseName + "-hub-kubeconfig"
		}
	}
}

func (o *Options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet(Program, flag.ContinueOnError)
	flags.StringVar(&o.LeaseName, flagLeaseName, "", "`name` of the lease; for OCM it has to be the add-on's (required)")
	flags.StringVar(&o.LeaseNamespace, flagLeaseNamespace, "",
		"`namespace` of the lease on the hub, which is the cluster's name (required);\nwith -lease-location managed on the managed cluster (default: $WATCH_NAMESPACE)")
	flags.StringVar(&o.Secret, flagSecret, "",
		"`name` of the secret in $WATCH_NAMESPACE with the add-on's hub kubeconfig (default: the lease's name\nwith -hub-kubeconfig, as OCM names it; with -lease-location managed: none)")
	flags.Var((*seconds)(&o.LeaseDuration), flagLeaseDuration, "`seconds` that the lease lasts; it is renewed as often, up to a tenth later")
	flags.Var((*seconds)(&o.StartupDelay), flagStartupDelay, "`seconds` after the start without a lease")
	flags.StringVar((*string)(&o.LeaseLocation), flagLeaseLocation, string(o.LeaseLocation),
		"cluster that has the lease: hub, or managed, where OCM reads it")
	flags.StringVar(&o.HealthAddress, flagHealthAddress, defaultHealthAddress, "`address` of /healthz and /readyz; 0 disables them")
	flags.StringVar(&o.MetricsAddress, flagMetricsAddress, defaultMetricsAddress,
		"loopback `address` of /metrics; 0 disables it")
	flags.StringVar(&o.Kubeconfig, flagKubeconfig, "", "kubeconfig `file` of the managed cluster, to run by hand (default: $KUBECONFIG, the service\naccount of the pod, or ~/.kube/config)")
	for _, name := range []string{flagMetricsHost, flagMetricsPort} {
		_ = flags.String(name, "", "`ignored`: metrics are at -"+flagMetricsAddress)
	}
	flags.BoolVar(&o.Version, flagVersion, false, "print the version and exit")
	level := loglevel.Flag()
	flags.Var(level.Value, level.Name, level.Usage)
	return flags
}

func usage(flags *flag.FlagSet, out io.Writer) {
	fmt.Fprintf(out, `%s renews the lease of an add-on while the add-on's pod works.

Environment:
  %s   namespace of the Secret (default: $%s)
  %s          pod whose readiness counts, usually its own (required)
  %s     namespace of that pod (default: $%s)

Flags, with one dash or two:
`, Program, envWatchNamespace, envPodNamespace, envPodName, envPodNamespace, envWatchNamespace)
	flags.PrintDefaults()
}

// seconds is a flag value: a number of seconds, or a duration such as 1m30s.
type seconds time.Duration

func (s *seconds) String() string {
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'f', -1, 64)
}

func (s *seconds) Set(value string) error {
	number, err := strconv.ParseInt(value, 10, 32)
	if err == nil {
		*s = seconds(time.Duration(number) * time.Second)
		return nil
	}
	duration, other := time.ParseDuration(value)
	switch {
	case other == nil:
		*s = seconds(duration)
		return nil
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("give at most %d seconds", maxSeconds)
	default:
		return errors.New("give a number of seconds, such as 60")
	}
}

const (
	// maxSeconds is the longest duration that a Lease can have. The API has 32 bits.
	maxSeconds = math.MaxInt32
	// ocmPatience is the age of a lease on the managed cluster from which on OCM sets
	// Available to False. See OnManaged.
	ocmPatience = 5 * time.Minute
	// ocmLongest leaves time for a renewal that is a tenth late and has to be tried
	// again.
	ocmLongest = 4 * time.Minute
)

// Validate returns every problem of the options in one line.
func (o *Options) Validate() error {
	var p flagcheck.Problems
	p.Name("-"+flagLeaseName, o.LeaseName, "the lease's name", validation.IsDNS1123Subdomain)
	p.Name("-"+flagLeaseNamespace, o.LeaseNamespace, "the lease's namespace, which on the hub is the managed cluster's name", validation.IsDNS1123Label)
	switch o.LeaseLocation {
	case OnHub, OnManaged:
	default:
		p.Add("-"+flagLeaseLocation, string(o.LeaseLocation), "give %s or %s", OnHub, OnManaged)
	}
	if o.Secret != "" {
		p.Name("-"+flagSecret, o.Secret, "the secret's name", validation.IsDNS1123Subdomain)
	}
	p.Name("$"+envWatchNamespace, o.WatchNamespace, "the secret's namespace", validation.IsDNS1123Label)
	p.Name("$"+envPodName, o.PodName, "the name of the pod whose readiness counts", validation.IsDNS1123Subdomain)
	p.Name("$"+envPodNamespace, o.PodNamespace, "the namespace of that pod", validation.IsDNS1123Label)
	if o.LeaseDuration < time.Second || o.LeaseDuration > maxSeconds*time.Second {
		p.Add("-"+flagLeaseDuration, o.LeaseDuration.String(), "give seconds from 1 to %d", maxSeconds)
	}
	if o.StartupDelay < 0 {
		p.Add("-"+flagStartupDelay, o.StartupDelay.String(), "give 0 seconds or more")
	}
	if o.HealthAddress != httpserver.Off {
		if _, err := flagcheck.Host(o.HealthAddress); err != nil {
			p.Add("-"+flagHealthAddress, o.HealthAddress, "%s: give host:port, such as %s, or 0 to disable it", err, defaultHealthAddress)
		}
	}
	o.validateMetrics(&p)
	return p.Err("invalid flags or environment")
}

func (o *Options) validateMetrics(p *flagcheck.Problems) {
	if o.MetricsAddress == httpserver.Off {
		return
	}
	host, err := flagcheck.Host(o.MetricsAddress)
	switch {
	case err != nil:
		p.Add("-"+flagMetricsAddress, o.MetricsAddress, "%s: give host:port, such as %s, or 0 to disable it", err, defaultMetricsAddress)
	case !flagcheck.IsLoopback(host):
		p.Add("-"+flagMetricsAddress, o.MetricsAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to disable it")
	}
}
