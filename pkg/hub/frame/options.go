package frame

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"
	logsapi "k8s.io/component-base/logs/api/v1"

	"open-cluster-management.io/helloworld-addon/internal/commandline"
)

// Environment variables and the file with the pod's name and namespace.
const (
	podNamespaceEnv  = "POD_NAMESPACE"
	podNameEnv       = "POD_NAME"
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

const (
	defaultBindAddress = "0.0.0.0"
	defaultPort        = 8443

	// At its start a program reads, and may write, a few objects for each of
	// hundreds of clusters. With client-go's default of 5 requests per second that
	// would take minutes. Priority and fairness protects the API server.
	// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
	defaultQPS   = 1000
	defaultBurst = 2000

	// defaultStartupTimeout is how long to wait at the start for a hub to answer.
	defaultStartupTimeout = time.Minute

	// The controller survives 40 s without the API server. A deleted pod releases the
	// lease, and a restarted container still holds it, because it has its pod's name.
	// Only after the loss of a node does another replica wait for a minute.
	defaultLeaseDuration = 60 * time.Second
	defaultRenewDeadline = 40 * time.Second
	defaultRetryPeriod   = 5 * time.Second
)

// Options are the options of a program's command line.
type Options struct {
	// Kubeconfig is a file for the hub. Empty means $KUBECONFIG, the cluster in which the program
	// runs, or ~/.kube/config.
	Kubeconfig string
	// Namespace is the program's namespace, which has its leader election Lease.
	Namespace string
	// KubeAPIQPS and KubeAPIBurst limit the requests of each client.
	KubeAPIQPS   float32
	KubeAPIBurst int
	// StartupTimeout is how long to wait at the start for a hub that does not answer.
	StartupTimeout time.Duration

	Serving        ServingOptions
	LeaderElection LeaderElectionOptions
	Logging        *logsapi.LoggingConfiguration
}

// ServingOptions are the options of the server for health and metrics.
type ServingOptions struct {
	BindAddress string
	// Port is the port for HTTPS; 0 disables the server.
	Port int
	// CertFile and KeyFile have the server's certificate; if both are empty, the
	// controller signs one itself.
	CertFile, KeyFile string
}

// LeaderElectionOptions are the options of the leader election.
type LeaderElectionOptions struct {
	Enabled       bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	// Identity is the name of this replica; empty means the host's name with a unique
	// suffix.
	Identity string
}

// NewOptions returns the default options, with the pod's name and namespace from the
// environment.
func NewOptions() *Options {
	return &Options{
		Namespace:      podNamespace(),
		KubeAPIQPS:     defaultQPS,
		KubeAPIBurst:   defaultBurst,
		StartupTimeout: defaultStartupTimeout,
		Serving:        ServingOptions{BindAddress: defaultBindAddress, Port: defaultPort},
		LeaderElection: LeaderElectionOptions{
			Enabled:       true,
			LeaseDuration: defaultLeaseDuration,
			RenewDeadline: defaultRenewDeadline,
			RetryPeriod:   defaultRetryPeriod,
			Identity:      os.Getenv(podNameEnv),
		},
		Logging: logsapi.NewLoggingConfiguration(),
	}
}

func podNamespace() string {
	if namespace := os.Getenv(podNamespaceEnv); namespace != "" {
		return namespace
	}
	content, err := os.ReadFile(podNamespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// AddFlags adds a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"a kubeconfig file for the hub; empty: $KUBECONFIG, the cluster in which the controller runs, or ~/.kube/config")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace,
		"the controller's own namespace on the hub, with its leader election Lease "+
			"(default: $"+podNamespaceEnv+", or the namespace of the pod's service account)")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS,
		"the maximum requests per second of each client of the hub")
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst,
		"the maximum burst of requests of each client of the hub")
	flags.DurationVar(&o.StartupTimeout, "startup-timeout", o.StartupTimeout,
		"how long to wait for a hub that does not answer before giving up")

	flags.StringVar(&o.Serving.BindAddress, "bind-address", o.Serving.BindAddress,
		"the IP address on which health and metrics are served")
	flags.IntVar(&o.Serving.Port, "secure-port", o.Serving.Port,
		"the HTTPS port for health and metrics; 0 disables the server")
	flags.StringVar(&o.Serving.CertFile, "tls-cert-file", o.Serving.CertFile,
		"a file with the server's certificate; empty: the controller signs one itself")
	flags.StringVar(&o.Serving.KeyFile, "tls-private-key-file", o.Serving.KeyFile,
		"a file with the key of --tls-cert-file")

	flags.BoolVar(&o.LeaderElection.Enabled, "leader-elect", o.LeaderElection.Enabled,
		"run only while holding a Lease, so that several replicas can be deployed")
	flags.DurationVar(&o.LeaderElection.LeaseDuration, "leader-elect-lease-duration", o.LeaderElection.LeaseDuration,
		"how long after the last renewal another replica may take over")
	flags.DurationVar(&o.LeaderElection.RenewDeadline, "leader-elect-renew-deadline", o.LeaderElection.RenewDeadline,
		"how long the leader retries renewing its Lease before it gives up")
	flags.DurationVar(&o.LeaderElection.RetryPeriod, "leader-elect-retry-period", o.LeaderElection.RetryPeriod,
		"how long to wait between two attempts to acquire or renew the Lease")

	logsapi.AddFlags(o.Logging, flags)
}

// Validate returns every problem with the options, each naming the flag, its
// value and what to do.
func (o *Options) Validate() error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Namespace == "" {
		report("--namespace is missing, and neither $%s nor a pod's service account has it: "+
			"name the controller's own namespace on the hub, for example --namespace=open-cluster-management", podNamespaceEnv)
	} else if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		report("--namespace=%q is not a name of a namespace: %s", o.Namespace, strings.Join(problems, "; "))
	}
	errs = append(errs, commandline.CheckRequests(o.KubeAPIQPS, o.KubeAPIBurst)...)
	if o.StartupTimeout <= 0 {
		report("--startup-timeout=%s must be above 0, for example 1m", o.StartupTimeout)
	}
	errs = append(errs, o.Serving.validate()...)
	errs = append(errs, o.LeaderElection.validate()...)
	errs = append(errs, commandline.CheckLogging(o.Logging)...)
	return errors.Join(errs...)
}

func (o ServingOptions) validate() []error {
	var errs []error
	if net.ParseIP(o.BindAddress) == nil {
		errs = append(errs, fmt.Errorf("--bind-address=%q is not an IP address: use for example 0.0.0.0", o.BindAddress))
	}
	if o.Port < 0 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("--secure-port=%d must be from 0 to 65535", o.Port))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--tls-cert-file=%q and --tls-private-key-file=%q must be set together, or neither",
			o.CertFile, o.KeyFile))
	}
	return errs
}

func (o LeaderElectionOptions) validate() []error {
	if !o.Enabled {
		return nil
	}
	var errs []error
	if o.RetryPeriod <= 0 {
		errs = append(errs, fmt.Errorf("--leader-elect-retry-period=%s must be above 0", o.RetryPeriod))
	}
	// client-go adds up to JitterFactor of the retry period to each.
	if least := time.Duration(leaderelection.JitterFactor * float64(o.RetryPeriod)); o.RenewDeadline <= least {
		errs = append(errs, fmt.Errorf("--leader-elect-renew-deadline=%s must be above %s, which is %g times --leader-elect-retry-period",
			o.RenewDeadline, least, leaderelection.JitterFactor))
	}
	if o.LeaseDuration <= o.RenewDeadline {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration=%s must be above --leader-elect-renew-deadline=%s",
			o.LeaseDuration, o.RenewDeadline))
	}
	if o.LeaseDuration < time.Second {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration=%s must be 1s or more", o.LeaseDuration))
	}
	return errs
}
