package manifests

import "time"

// AgentCommand is the agent's program, found in the image's PATH.
const AgentCommand = "helloworld-agent"

// UninstallCommand is the agent's subcommand that the pre-delete hook runs.
const UninstallCommand = "uninstall"

// Names of the agent's flags, without the dashes.
const (
	// FlagClusterName takes the managed cluster's name, which is also its
	// namespace on the hub. Required.
	FlagClusterName = "cluster-name"

	// FlagNamespace takes the install namespace, where the copies, the lease and
	// the secret are. Required.
	FlagNamespace = "namespace"

	// FlagHubKubeconfigSecret takes the name of the Secret with the hub's
	// kubeconfig in the install namespace.
	FlagHubKubeconfigSecret = "hub-kubeconfig-secret"

	// FlagHubKubeconfig takes a kubeconfig file for the hub instead of the
	// secret.
	FlagHubKubeconfig = "hub-kubeconfig"

	// FlagPodName and FlagPodUID take the name and the UID of the agent's own
	// pod, for its events.
	FlagPodName = "pod-name"
	FlagPodUID  = "pod-uid"

	// FlagKubeconfig takes the managed cluster's kubeconfig. Empty: in-cluster.
	FlagKubeconfig = "kubeconfig"

	// FlagHosted says that the agent runs on another cluster than the managed one,
	// which FlagKubeconfig reaches then. The lease and the secret with the hub's
	// kubeconfig are where it runs.
	FlagHosted = "hosted"

	// FlagHealthBindAddress takes the address of /healthz and /readyz.
	FlagHealthBindAddress = "health-bind-address"

	// FlagMetricsBindAddress takes the address of /metrics; "0" switches it off.
	FlagMetricsBindAddress = "metrics-bind-address"

	// FlagLeaseDuration takes the lease's duration, such as 60s.
	FlagLeaseDuration = "lease-duration"

	// FlagDeletionHold takes how long the agent holds deletions of more than half
	// of the copies that only a list of the hub's ConfigMaps implies, such as 10m;
	// 0 switches that off.
	FlagDeletionHold = "deletion-hold"

	// FlagKubeAPIQPS takes the clients' limit of requests per second.
	FlagKubeAPIQPS = "kube-api-qps"

	// FlagKubeAPIBurst takes the clients' limit of requests at once.
	FlagKubeAPIBurst = "kube-api-burst"

	// FlagAddOnUID takes the UID of the ManagedClusterAddOn that is being deleted.
	// Of UninstallCommand; required.
	FlagAddOnUID = "addon-uid"

	// FlagJobName and FlagJobUID take the name and the UID of the Job that runs
	// UninstallCommand. The marker that it leaves goes with the Job.
	FlagJobName = "job-name"
	FlagJobUID  = "job-uid"

	// FlagVerbosity takes the log level. The agent takes one above 7 for 7.
	FlagVerbosity = "v"
)

// MaxDeletionHold is the longest FlagDeletionHold: a deletion that is held for
// more than a week is forgotten.
const MaxDeletionHold = 7 * 24 * time.Hour

// Where the agent serves health. The probes in its Deployment and the default
// of FlagHealthBindAddress use the same port.
const (
	// HealthPort is the port of /healthz and /readyz.
	HealthPort = 8081

	// DefaultHealthBindAddress is the default of FlagHealthBindAddress.
	DefaultHealthBindAddress = ":8081"

	// DefaultMetricsBindAddress is the default of FlagMetricsBindAddress: the
	// pod's loopback only, because nothing authorizes its readers.
	DefaultMetricsBindAddress = "localhost:8080"
)
