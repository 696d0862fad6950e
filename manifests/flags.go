package manifests

import "time"

// AgentCommand is the name of the agent's program, which is in the image's PATH.
const AgentCommand = "helloworld-agent"

// UninstallCommand is the agent's subcommand that the pre-delete hook runs.
const UninstallCommand = "uninstall"

// Names of the agent's flags, without the dashes.
const (
	// FlagClusterName takes the managed cluster's name, which is also its
	// namespace on the hub. Required.
	FlagClusterName = "cluster-name"

	// FlagNamespace takes the install namespace, with the copies, the Lease and the
	// Secret. Required.
	FlagNamespace = "namespace"

	// FlagHubKubeconfigSecret takes the name of the Secret with the hub's
	// kubeconfig in the install namespace.
	FlagHubKubeconfigSecret = "hub-kubeconfig-secret"

	// FlagHubKubeconfig takes a kubeconfig file for the hub, instead of the Secret.
	FlagHubKubeconfig = "hub-kubeconfig"

	// FlagPodName and FlagPodUID take the name and the UID of the agent's pod, for its
	// events.
	FlagPodName = "pod-name"
	FlagPodUID  = "pod-uid"

	// FlagKubeconfig takes the managed cluster's kubeconfig. Empty: in-cluster.
	FlagKubeconfig = "kubeconfig"

	// FlagHosted means that the agent runs on another cluster than the managed one,
	// and reaches the managed one by FlagKubeconfig. The Lease and the Secret with the
	// hub's kubeconfig are on the cluster where it runs.
	FlagHosted = "hosted"

	// FlagHealthBindAddress takes the address of /healthz and /readyz.
	FlagHealthBindAddress = "health-bind-address"

	// FlagMetricsBindAddress takes the address of /metrics; "0" disables it.
	FlagMetricsBindAddress = "metrics-bind-address"

	// FlagLeaseDuration takes the lease's duration, such as 60s.
	FlagLeaseDuration = "lease-duration"

	// FlagDeletionHold takes how long the agent holds deletions of more than half of
	// the copies that only a list of the hub's ConfigMaps implies, for example 10m;
	// 0 disables that. See docs/design.md#rule-10-removals.
	FlagDeletionHold = "deletion-hold"

	// FlagKubeAPIQPS takes the clients' limit of requests per second.
	FlagKubeAPIQPS = "kube-api-qps"

	// FlagKubeAPIBurst takes the clients' limit of requests at once.
	FlagKubeAPIBurst = "kube-api-burst"

	// FlagAddOnUID of UninstallCommand takes the UID of the ManagedClusterAddOn that is
	// being deleted. Required.
	FlagAddOnUID = "addon-uid"

	// FlagJobName and FlagJobUID of UninstallCommand take the name and the UID of its
	// Job. The marker's owner is the Job, so that it is garbage collected with it.
	FlagJobName = "job-name"
	FlagJobUID  = "job-uid"

	// FlagVerbosity takes the log level. A level above MaxLogVerbosity has the effect
	// of MaxLogVerbosity.
	FlagVerbosity = "v"
)

// MaxLogVerbosity is the agent's highest log level. From 8 on client-go logs the
// bodies of requests and responses, and with them the Secret with the hub's
// credentials.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-instrumentation/logging.md
const MaxLogVerbosity = 7

// MaxDeletionHold is the longest FlagDeletionHold: after a week, users no longer expect
// a held deletion.
const MaxDeletionHold = 7 * 24 * time.Hour

// Addresses of the agent's servers. The probes in its Deployment use the same port as
// the default of FlagHealthBindAddress.
const (
	// HealthPort is the port of /healthz and /readyz.
	HealthPort = 8081

	// DefaultHealthBindAddress is the default of FlagHealthBindAddress.
	DefaultHealthBindAddress = ":8081"

	// DefaultMetricsBindAddress is the default of FlagMetricsBindAddress: only the
	// pod's loopback, because the server does not authorize its clients.
	DefaultMetricsBindAddress = "localhost:8080"
)
