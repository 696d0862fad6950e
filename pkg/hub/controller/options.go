package controller

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
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Environment variables and the file that tell a pod who it is.
const (
	podNamespaceEnv  = "POD_NAMESPACE"
	podNameEnv       = "POD_NAME"
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

const (
	defaultBindAddress = "0.0.0.0"
	defaultPort        = 8443

	// A hub has hundreds of clusters, and a start of the controller reads and
	// perhaps writes a few objects for each: client-go's own limit of 5 requests
	// per second would stretch that to minutes. The API server's priority and
	// fairness is what protects it.
	defaultQPS   = 100
	defaultBurst = 200

	// defaultStartupTimeout is how long a hub may take to answer at the start.
	defaultStartupTimeout = time.Minute

	// The controller outlives an API server that is away for 40 s. A pod that is
	// deleted gives the lease up, and a container that is restarted in its pod has
	// the pod's name and so still holds it; only after the loss of a node does
	// another one wait for a minute.
	defaultLeaseDuration = 60 * time.Second
	defaultRenewDeadline = 40 * time.Second
	defaultRetryPeriod   = 5 * time.Second
)

// Options are what the controller is told on its command line.
type Options struct {
	// AgentImage is the image of the agents that it deploys.
	AgentImage string
	// Kubeconfig is a file for the hub; empty means in-cluster.
	Kubeconfig string
	// Namespace is the controller's own, where its leader election lease is.
	Namespace string
	// KubeAPIQPS and KubeAPIBurst limit the requests of each client.
	KubeAPIQPS   float32
	KubeAPIBurst int
	// StartupTimeout is how long to wait for a hub that does not answer.
	StartupTimeout time.Duration

	Serving        ServingOptions
	LeaderElection LeaderElectionOptions
	Logging        *logsapi.LoggingConfiguration
}

// ServingOptions say where health and metrics are served.
type ServingOptions struct {
	BindAddress string
	// Port is the port for HTTPS; 0 serves nothing.
	Port int
	// CertFile and KeyFile are the server's certificate; both empty means one
	// that the controller signs itself.
	CertFile, KeyFile string
}

// LeaderElectionOptions say how replicas agree on who works.
type LeaderElectionOptions struct {
	Enabled       bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	// Identity tells this replica from others. Empty: the host's name with
	// something unique.
	Identity string
}

// NewOptions returns the defaults, among them what the environment says about
// the pod.
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
	flags.StringVar(&o.AgentImage, "agent-image", o.AgentImage,
		"the image of the agents on the managed clusters, usually the controller's own; required")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"a kubeconfig file for the hub; empty: the cluster in which the controller runs")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace,
		"the controller's own namespace on the hub, where its leader election lease is "+
			"(default: $"+podNamespaceEnv+", or the namespace of the pod's service account)")
	flags.Float32Var(&o.KubeAPIQPS, "kube-api-qps", o.KubeAPIQPS,
		"the most requests per second that each client of the hub makes")
	flags.IntVar(&o.KubeAPIBurst, "kube-api-burst", o.KubeAPIBurst,
		"the most requests at once that each client of the hub makes")
	flags.DurationVar(&o.StartupTimeout, "startup-timeout", o.StartupTimeout,
		"how long to wait for a hub that does not answer before giving up")

	flags.StringVar(&o.Serving.BindAddress, "bind-address", o.Serving.BindAddress,
		"the IP address on which health and metrics are served")
	flags.IntVar(&o.Serving.Port, "secure-port", o.Serving.Port,
		"the port for health and metrics, by HTTPS; 0 serves nothing")
	flags.StringVar(&o.Serving.CertFile, "tls-cert-file", o.Serving.CertFile,
		"a file with the server's certificate; empty: one that the controller signs itself")
	flags.StringVar(&o.Serving.KeyFile, "tls-private-key-file", o.Serving.KeyFile,
		"a file with the key of --tls-cert-file")

	flags.BoolVar(&o.LeaderElection.Enabled, "leader-elect", o.LeaderElection.Enabled,
		"work only while holding a lease, so that there may be several replicas")
	flags.DurationVar(&o.LeaderElection.LeaseDuration, "leader-elect-lease-duration", o.LeaderElection.LeaseDuration,
		"how long after its last renewal a lost leader is replaced")
	flags.DurationVar(&o.LeaderElection.RenewDeadline, "leader-elect-renew-deadline", o.LeaderElection.RenewDeadline,
		"how long the leader tries to renew its lease before it gives up")
	flags.DurationVar(&o.LeaderElection.RetryPeriod, "leader-elect-retry-period", o.LeaderElection.RetryPeriod,
		"how long between two tries to get or renew the lease")

	logsapi.AddFlags(o.Logging, flags)
}

// Validate returns every problem with the options, each naming the flag, its
// value and what to do.
func (o *Options) Validate() error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.AgentImage == "" {
		report("--agent-image is missing: name the agents' image, for example --agent-image=%s", manifests.DefaultImage)
	} else if strings.ContainsAny(o.AgentImage, " \t\r\n") {
		report("--agent-image=%q is not an image: take the white space out", o.AgentImage)
	}
	if o.Namespace == "" {
		report("--namespace is missing, and neither $%s nor a pod's service account says it: "+
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
