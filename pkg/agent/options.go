package agent

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Options are the agent's flags.
type Options struct {
	// ClusterName is the managed cluster's name, and its namespace on the hub.
	ClusterName string
	// Namespace is the install namespace.
	Namespace string
	// HubKubeconfigSecret is the name of the secret with the hub's credentials.
	HubKubeconfigSecret string
	// HubKubeconfig is a file to use instead of the secret.
	HubKubeconfig string
	// PodName and PodUID are the agent's own pod's, for events; both empty
	// where it runs in none.
	PodName string
	PodUID  types.UID
	// Kubeconfig is the managed cluster's; empty means in-cluster.
	Kubeconfig string
	// Hosted says that the pod runs on another cluster than the managed one.
	Hosted bool
	// HealthBindAddress is where /healthz and /readyz are served.
	HealthBindAddress string
	// MetricsBindAddress is where /metrics is served; "0" for nowhere.
	MetricsBindAddress string
	// LeaseDuration is what the lease says; it is renewed more often.
	LeaseDuration time.Duration
	// DeletionHold is how long deletions are held that only a list tells of.
	DeletionHold time.Duration
	// KubeAPIQPS and KubeAPIBurst limit the requests per second to each of the
	// two API servers.
	KubeAPIQPS   float32
	KubeAPIBurst int

	flags *pflag.FlagSet
}

// The limits are there to bound a fault, not to pace the work: the mirror has
// at most 16 writes on their way and retries at most 10 a second, and API
// servers defend themselves (API Priority and Fairness). So a burst of 2,000
// ConfigMaps passes without a wait, and a sustained load is let through at more
// than the 300 writes a second that a small API server was measured to take.
// client-go's own 5 and 10 would make 2,000 ConfigMaps take more than 6 minutes.
const (
	defaultQPS   = 1000
	defaultBurst = 2000
)

const defaultLeaseDuration = 60 * time.Second

// defaultDeletionHold is long enough to restore ConfigMaps that a restored hub
// lacks, and short enough not to keep what a person deleted while the agent was
// away.
const defaultDeletionHold = 10 * time.Minute

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		HubKubeconfigSecret: manifests.HubKubeconfigSecret,
		HealthBindAddress:   manifests.DefaultHealthBindAddress,
		MetricsBindAddress:  manifests.DefaultMetricsBindAddress,
		LeaseDuration:       defaultLeaseDuration,
		DeletionHold:        defaultDeletionHold,
		KubeAPIQPS:          defaultQPS,
		KubeAPIBurst:        defaultBurst,
	}
}

// AddFlags adds a flag for each option, with the present value as default.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.addCommonFlags(flags)
	flags.StringVar(&o.HubKubeconfig, manifests.FlagHubKubeconfig, o.HubKubeconfig,
		"Kubeconfig file of the hub, to use instead of the secret when running by hand. It and the\n"+
			"files that it names are read again when they change.")
	flags.StringVar(&o.PodName, manifests.FlagPodName, o.PodName,
		"Name of the agent's own pod in the install namespace, to write events on. Empty: no events.")
	flags.StringVar((*string)(&o.PodUID), manifests.FlagPodUID, string(o.PodUID), "UID of that pod.")
	flags.StringVar(&o.HealthBindAddress, manifests.FlagHealthBindAddress, o.HealthBindAddress,
		"Address to serve /healthz and /readyz on, by plain HTTP.")
	flags.StringVar(&o.MetricsBindAddress, manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
		"Loopback address to serve /metrics on, and /readyz with details, by plain HTTP; 0 switches it off.")
	flags.DurationVar(&o.LeaseDuration, manifests.FlagLeaseDuration, o.LeaseDuration,
		"Duration of the add-on's lease, which is renewed four times as often.")
	flags.DurationVar(&o.DeletionHold, manifests.FlagDeletionHold, o.DeletionHold,
		"How long to hold the deletion of more than half of the copies when only a list of the hub's\n"+
			"ConfigMaps implies it, for example after the hub was restored; 0 switches that off.")
}

// addCommonFlags adds those that the uninstall command has too.
func (o *Options) addCommonFlags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.ClusterName, manifests.FlagClusterName, o.ClusterName,
		"Name of the managed cluster, which is its namespace on the hub. Required.")
	flags.StringVar(&o.Namespace, manifests.FlagNamespace, o.Namespace,
		"Install namespace: the copies, the lease and the hub's credentials are there. Required.")
	flags.StringVar(&o.HubKubeconfigSecret, manifests.FlagHubKubeconfigSecret, o.HubKubeconfigSecret,
		"Name of the Secret in the install namespace that holds the hub's kubeconfig.")
	flags.StringVar(&o.Kubeconfig, manifests.FlagKubeconfig, o.Kubeconfig,
		"Kubeconfig file of the managed cluster. Empty in a pod: its service account is used.")
	flags.BoolVar(&o.Hosted, manifests.FlagHosted, o.Hosted,
		"The pod runs on a hosting cluster: the lease and the hub's credentials are there, in a namespace of\n"+
			"the same name, and only the copies are on the managed cluster, which --"+manifests.FlagKubeconfig+" reaches.")
	flags.Float32Var(&o.KubeAPIQPS, manifests.FlagKubeAPIQPS, o.KubeAPIQPS,
		"Limit of requests per second to an API server.")
	flags.IntVar(&o.KubeAPIBurst, manifests.FlagKubeAPIBurst, o.KubeAPIBurst,
		"Requests to an API server that may exceed the limit at once.")
}

// explicit says whether a flag was given.
func (o *Options) explicit(flag string) bool {
	return o.flags != nil && o.flags.Changed(flag)
}
