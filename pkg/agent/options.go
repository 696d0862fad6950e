package agent

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
)

// Options are the agent's flags.
type Options struct {
	// ClusterName is the managed cluster's name, and its namespace on the hub.
	ClusterName string
	// Namespace is the install namespace.
	Namespace string
	// HubKubeconfigSecret is the name of the Secret with the hub's credentials.
	HubKubeconfigSecret string
	// HubKubeconfig is a kubeconfig file to use instead of the Secret.
	HubKubeconfig string
	// PodName and PodUID identify the agent's own pod, for events. Both are empty if
	// it does not run in a pod.
	PodName string
	PodUID  types.UID
	// Kubeconfig is the kubeconfig file of the managed cluster. If it is empty, the
	// pod's ServiceAccount is used.
	Kubeconfig string
	// Hosted reports whether the pod runs on another cluster than the managed one.
	Hosted bool
	// HealthBindAddress is the address of /healthz and /readyz; "0" disables it.
	HealthBindAddress string
	// MetricsBindAddress is the address of /metrics; "0" disables it.
	MetricsBindAddress string
	// LeaseDuration is the duration of the lease, which is renewed more often.
	LeaseDuration time.Duration
	// DeletionHold is how long many deletions are held that only a list implies
	// (docs/design.md#rule-10-removals).
	DeletionHold time.Duration
	// KubeAPIQPS and KubeAPIBurst limit the requests per second to each of the
	// two API servers.
	KubeAPIQPS   float32
	KubeAPIBurst int
	// Managed, if not nil, is used instead of Kubeconfig. It has no flag. A process
	// with many agents sets it, so that they share connections.
	Managed *rest.Config
	// Trim returns unused memory to the operating system. It is called after each
	// period of work, and has no flag. Nil means debug.FreeOSMemory, which collects
	// the garbage of the whole process: a process with many agents sets another.
	Trim func()

	flags *pflag.FlagSet
}

// The limits bound a fault and do not pace the work: the mirror has at most 16 writes
// in flight and retries at most 10 per second, and API servers protect themselves
// (https://kubernetes.io/docs/concepts/cluster-administration/flow-control/). A burst
// of 2,000 ConfigMaps passes without a wait. A sustained load passes at more than the
// 300 writes per second that a small API server was measured to accept. With
// client-go's defaults of 5 and 10, 2,000 ConfigMaps would take more than 6 minutes.
const (
	defaultQPS   = 1000
	defaultBurst = 2000
)

const defaultLeaseDuration = 60 * time.Second

// defaultDeletionHold is long enough to restore the ConfigMaps of a hub that was
// restored from a backup. It is short enough for a person who deleted ConfigMaps while
// the agent was not running.
const defaultDeletionHold = 10 * time.Minute

// NewOptions returns Options with the default values.
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

// AddFlags adds a flag for each option. Its present value is the default.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.addCommonFlags(flags)
	flags.StringVar(&o.HubKubeconfig, manifests.FlagHubKubeconfig, o.HubKubeconfig,
		"Kubeconfig file of the hub, to use instead of the Secret when running by hand. It and the\n"+
			"files that it names are read again when they change.")
	flags.StringVar(&o.PodName, manifests.FlagPodName, o.PodName,
		"Name of the agent's own pod in the install namespace, to write events on. Empty: no events.")
	flags.StringVar((*string)(&o.PodUID), manifests.FlagPodUID, string(o.PodUID), "UID of that pod.")
	flags.StringVar(&o.HealthBindAddress, manifests.FlagHealthBindAddress, o.HealthBindAddress,
		"Address to serve /healthz and /readyz on, by plain HTTP; 0 disables it.")
	flags.StringVar(&o.MetricsBindAddress, manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
		"Loopback address to serve /metrics on, and /readyz with details, by plain HTTP; 0 disables it.")
	flags.DurationVar(&o.LeaseDuration, manifests.FlagLeaseDuration, o.LeaseDuration,
		"Duration of the add-on's lease, which is renewed four times as often.")
	flags.DurationVar(&o.DeletionHold, manifests.FlagDeletionHold, o.DeletionHold,
		"How long to hold the deletion of more than half of the copies when only a list of the hub's\n"+
			"ConfigMaps implies it, for example after the hub was restored; 0 disables that.")
}

// addCommonFlags adds the flags that the uninstall command has as well.
func (o *Options) addCommonFlags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.ClusterName, manifests.FlagClusterName, o.ClusterName,
		"Name of the managed cluster, which is its namespace on the hub. Required.")
	flags.StringVar(&o.Namespace, manifests.FlagNamespace, o.Namespace,
		"Install namespace: the copies, the lease and the hub's credentials are there. Required.")
	flags.StringVar(&o.HubKubeconfigSecret, manifests.FlagHubKubeconfigSecret, o.HubKubeconfigSecret,
		"Name of the Secret in the install namespace that holds the hub's kubeconfig.")
	flags.StringVar(&o.Kubeconfig, manifests.FlagKubeconfig, o.Kubeconfig,
		"Kubeconfig file of the managed cluster. Empty: $KUBECONFIG, the pod's service account, or ~/.kube/config.")
	flags.BoolVar(&o.Hosted, manifests.FlagHosted, o.Hosted,
		"The pod runs on a hosting cluster: the lease and the hub's credentials are there, in a namespace of\n"+
			"the same name, and only the copies are on the managed cluster, which --"+manifests.FlagKubeconfig+" reaches.")
	flags.Float32Var(&o.KubeAPIQPS, manifests.FlagKubeAPIQPS, o.KubeAPIQPS,
		"Limit of requests per second to an API server.")
	flags.IntVar(&o.KubeAPIBurst, manifests.FlagKubeAPIBurst, o.KubeAPIBurst,
		"Requests to an API server that may exceed the limit at once.")
}

// explicit reports whether a flag was given.
func (o *Options) explicit(flag string) bool {
	return o.flags != nil && o.flags.Changed(flag)
}

// Bounds of the lease's duration. OCM sets the add-on to unavailable when the lease was
// not renewed for 5 minutes:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/lease_controller.go
const (
	minLeaseDuration = 4 * time.Second
	maxLeaseDuration = 5 * time.Minute
)

// invalidFlags is the beginning of an error about flags.
const invalidFlags = "invalid flags"

// Validate returns one error, in one line, for all invalid options.
func (o *Options) Validate() error {
	var p flagcheck.Problems
	o.validateNames(&p)
	if o.Namespace != "" && o.Namespace == o.ClusterName {
		p.Add("--"+manifests.FlagNamespace, o.Namespace, "it is the cluster's own name, and on a hub that manages itself each ConfigMap would be its own copy: "+
			"name another install namespace")
	}
	if o.HubKubeconfig != "" && o.explicit(manifests.FlagHubKubeconfigSecret) {
		p.Add("--"+manifests.FlagHubKubeconfig, o.HubKubeconfig, "it excludes --%s: give only one of the two", manifests.FlagHubKubeconfigSecret)
	}
	if o.HubKubeconfig == "" && o.explicit(manifests.FlagHubKubeconfig) {
		p.Add("--"+manifests.FlagHubKubeconfig, "", "give a file, or omit the flag to use the Secret")
	}
	if (o.PodName == "") != (o.PodUID == "") {
		p.Add("--"+manifests.FlagPodName, o.PodName, "it needs --%s: give both or none", manifests.FlagPodUID)
	}
	if _, err := flagcheck.Host(o.HealthBindAddress); err != nil && o.HealthBindAddress != httpserver.Off {
		p.Add("--"+manifests.FlagHealthBindAddress, o.HealthBindAddress, "%s: give host:port, such as :8081, or 0 to disable it", err)
	}
	o.validateMetrics(&p)
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.Add("--"+manifests.FlagLeaseDuration, o.LeaseDuration, "give a duration from %s to %s", minLeaseDuration, maxLeaseDuration)
	}
	if o.DeletionHold < 0 || o.DeletionHold > manifests.MaxDeletionHold {
		p.Add("--"+manifests.FlagDeletionHold, o.DeletionHold, "give a duration up to %s, or 0 to disable it", manifests.MaxDeletionHold)
	}
	return p.Err(invalidFlags)
}

// validateNames checks the flags that the uninstall command has as well.
func (o *Options) validateNames(p *flagcheck.Problems) {
	p.Name("--"+manifests.FlagClusterName, o.ClusterName, "the managed cluster's name on the hub", validation.IsDNS1123Label)
	p.Name("--"+manifests.FlagNamespace, o.Namespace, "the install namespace", validation.IsDNS1123Label)
	p.Name("--"+manifests.FlagHubKubeconfigSecret, o.HubKubeconfigSecret, "the Secret's name", validation.IsDNS1123Subdomain)
	if o.Hosted && o.Kubeconfig == "" {
		p.Add("--"+manifests.FlagHosted, true, "give the managed cluster's kubeconfig by --%s: the pod runs on another cluster", manifests.FlagKubeconfig)
	}
	// This form also rejects NaN.
	if !(o.KubeAPIQPS > 0) {
		p.Add("--"+manifests.FlagKubeAPIQPS, o.KubeAPIQPS, "give a number above 0")
	}
	if o.KubeAPIBurst < 1 {
		p.Add("--"+manifests.FlagKubeAPIBurst, o.KubeAPIBurst, "give a number above 0")
	}
}

func (o *Options) validateMetrics(p *flagcheck.Problems) {
	if o.MetricsBindAddress == httpserver.Off {
		return
	}
	host, err := flagcheck.Host(o.MetricsBindAddress)
	switch {
	case err != nil:
		p.Add("--"+manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"%s: give host:port, such as localhost:8080, or 0 to disable it", err)
	case !flagcheck.IsLoopback(host):
		p.Add("--"+manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"metrics are served without authorization and need a loopback address: give localhost:PORT, or 0 to disable it")
	}
}
