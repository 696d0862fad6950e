package sidecar

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
	"open-cluster-management.io/helloworld-addon/pkg/agent/loglevel"
)

// Location is where the lease is kept.
type Location string

const (
	// OnHub is the hub, which is reached with the add-on's credentials.
	OnHub Location = "hub"
	// OnManaged is the managed cluster, where OCM's registration agent reads an
	// add-on's lease in the install namespace.
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

// Names of the environment variables.
const (
	envWatchNamespace = "WATCH_NAMESPACE"
	envPodName        = "POD_NAME"
	envPodNamespace   = "POD_NAMESPACE"
)

// Options are the sidecar's flags and environment.
type Options struct {
	// LeaseName is the lease's name; for OCM it is the add-on's.
	LeaseName string
	// LeaseNamespace is the lease's namespace, on the hub or on the managed
	// cluster. With OnManaged it may be empty: WatchNamespace.
	LeaseNamespace string
	// LeaseLocation is where the lease is kept.
	LeaseLocation Location
	// Secret is the name of the secret with the hub's kubeconfig. With OnManaged
	// it may be empty: no secret is looked at.
	Secret string
	// LeaseDuration is what the lease says; it is renewed four times as often.
	LeaseDuration time.Duration
	// StartupDelay is how long nothing is written after the start.
	StartupDelay time.Duration
	// HealthAddress and MetricsAddress are where these are served; "0": nowhere.
	HealthAddress, MetricsAddress string
	// Kubeconfig is the managed cluster's, to run by hand; empty: in-cluster.
	Kubeconfig string
	// Version asks for the version alone.
	Version bool

	// WatchNamespace is the namespace of the secret.
	WatchNamespace string
	// PodName and PodNamespace name the pod whose readiness counts.
	PodName, PodNamespace string
}

// The addresses are uncommon ones: a pod's containers share their ports.
const (
	defaultHealthAddress  = ":8681"
	defaultMetricsAddress = "localhost:8680"
)

// Parse reads the command line, with one dash or two, and the environment. On
// -help the usage is written to out and the error is flag.ErrHelp.
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
	o.complete()
	return o, nil
}

// complete fills in what is left to a default that depends on the rest.
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
		"`namespace` on the hub where the lease is kept, which is the cluster's name (required);\nwith -lease-location managed on the managed cluster, by default $WATCH_NAMESPACE")
	flags.StringVar(&o.Secret, flagSecret, "",
		"`name` of the secret in $WATCH_NAMESPACE with the add-on's hub kubeconfig (default: the lease's name\nand -hub-kubeconfig, as OCM names it; with -lease-location managed: none is looked at)")
	flags.Var((*seconds)(&o.LeaseDuration), flagLeaseDuration, "`seconds` that the lease is good for; it is renewed four times as often")
	flags.Var((*seconds)(&o.StartupDelay), flagStartupDelay, "`seconds` after the start in which no lease is written")
	flags.StringVar((*string)(&o.LeaseLocation), flagLeaseLocation, string(o.LeaseLocation),
		"where the lease is kept: hub, or managed, which is where OCM reads it")
	flags.StringVar(&o.HealthAddress, flagHealthAddress, defaultHealthAddress, "`address` of /healthz and /readyz; 0 switches them off")
	flags.StringVar(&o.MetricsAddress, flagMetricsAddress, defaultMetricsAddress,
		"loopback `address` of /metrics; 0 switches them off")
	flags.StringVar(&o.Kubeconfig, flagKubeconfig, "", "kubeconfig `file` of the managed cluster, to run by hand; by default the pod's service account")
	flags.BoolVar(&o.Version, flagVersion, false, "print the version and end")
	level := loglevel.Flag()
	flags.Var(level.Value, level.Name, level.Usage)
	return flags
}

func usage(flags *flag.FlagSet, out io.Writer) {
	fmt.Fprintf(out, `%s keeps the lease of an add-on, as long as the add-on's pod works.

Environment:
  %s   namespace of the secret (default: $%s)
  %s          pod whose readiness counts, usually its own (required)
  %s     namespace of that pod (default: $%s)

Flags, with one dash or two:
`, Program, envWatchNamespace, envPodNamespace, envPodName, envPodNamespace, envWatchNamespace)
	flags.PrintDefaults()
}

// seconds is a flag's value: a number of seconds, or a duration such as 1m30s.
type seconds time.Duration

func (s *seconds) String() string {
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'f', -1, 64)
}

func (s *seconds) Set(value string) error {
	if number, err := strconv.ParseInt(value, 10, 32); err == nil {
		*s = seconds(time.Duration(number) * time.Second)
		return nil
	}
	duration, err := time.ParseDuration(value)
	if err != nil {
		return errors.New("give a number of seconds, such as 60")
	}
	*s = seconds(duration)
	return nil
}

// Bounds of the durations. OCM calls an add-on unavailable when its lease on
// the managed cluster was not renewed for 5 minutes.
const (
	minLeaseDuration = time.Second
	maxLeaseDuration = 5 * time.Minute
	maxStartupDelay  = time.Hour
)

// Validate reports everything that is wrong with the options, in one line.
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
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.Add("-"+flagLeaseDuration, o.LeaseDuration.String(), "give seconds from %.0f to %.0f", minLeaseDuration.Seconds(), maxLeaseDuration.Seconds())
	}
	if o.StartupDelay < 0 || o.StartupDelay > maxStartupDelay {
		p.Add("-"+flagStartupDelay, o.StartupDelay.String(), "give seconds from 0 to %.0f", maxStartupDelay.Seconds())
	}
	if o.HealthAddress != off {
		if _, err := flagcheck.Host(o.HealthAddress); err != nil {
			p.Add("-"+flagHealthAddress, o.HealthAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultHealthAddress)
		}
	}
	o.validateMetrics(&p)
	return p.Err("invalid flags or environment")
}

// off is the address that switches a server off.
const off = "0"

func (o *Options) validateMetrics(p *flagcheck.Problems) {
	if o.MetricsAddress == off {
		return
	}
	host, err := flagcheck.Host(o.MetricsAddress)
	switch {
	case err != nil:
		p.Add("-"+flagMetricsAddress, o.MetricsAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultMetricsAddress)
	case !flagcheck.IsLoopback(host):
		p.Add("-"+flagMetricsAddress, o.MetricsAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to switch it off")
	}
}
