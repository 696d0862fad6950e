package manifests

// Names that users and Open Cluster Management rely on.
const (
	// AddonName is the name of the ClusterManagementAddOn and of every
	// ManagedClusterAddOn. OCM derives further names from it: the secret
	// HubKubeconfigSecret, the ManifestWorks addon-<name>-deploy-N, and the DNS
	// name DNSName.
	AddonName = "helloworld"

	// AgentName is the last part of the user name in the agent's certificate on the
	// hub. It must never change: OCM's registration agent on every cluster would
	// discard the certificate and request a new one.
	AgentName = "helloworld-agent"

	// DNSName is the only DNS name in the agent's certificate request. OCM's
	// registration agent sets it: <add-on>.addon.open-cluster-management.io.
	DNSName = AddonName + ".addon.open-cluster-management.io"

	// DefaultImage holds the programs of the controller and of the agent.
	DefaultImage = "quay.io/open-cluster-management/helloworld-addon:v0.1.0"

	// DefaultInstallNamespace is OCM's default install namespace of add-ons on a
	// managed cluster.
	DefaultInstallNamespace = "open-cluster-management-agent-addon"
)

// Objects on the hub.
const (
	// ControllerName names the hub controller's Deployment, ServiceAccount and
	// leader election Lease.
	ControllerName = "helloworld-controller"

	// HubRole names the ClusterRole with the agents' rights on the hub, and the
	// RoleBinding in each cluster's namespace that grants them to its agent there.
	HubRole = "open-cluster-management:helloworld-addon:agent"

	// ReplicaSetRole names the ClusterRole with the right to write ConfigMaps, and the
	// RoleBinding in each cluster's namespace that grants it to the controller of
	// ConfigMapReplicaSets there.
	ReplicaSetRole = "open-cluster-management:helloworld-addon:replicaset"

	// HubServiceAccount is the agent's ServiceAccount in its cluster's namespace on the
	// hub, where OCM's registration agent uses tokens: <add-on>-agent.
	HubServiceAccount = AddonName + "-agent"
)

// Objects on a managed cluster, in the install namespace.
const (
	// AgentDeployment names the agent's Deployment and its container.
	AgentDeployment = "helloworld-agent"

	// AgentServiceAccount names the agent's ServiceAccount.
	AgentServiceAccount = "helloworld-agent-sa"

	// AgentRole names the agent's Role and RoleBinding.
	AgentRole = "helloworld-addon"

	// AgentEventRole names the Role and RoleBinding for the agent's events.
	AgentEventRole = "helloworld-addon-events"

	// HubKubeconfigSecret holds the agent's credentials for the hub. OCM's
	// registration agent writes it: <add-on>-hub-kubeconfig.
	HubKubeconfigSecret = AddonName + "-hub-kubeconfig"

	// ManagedKubeconfigSecret holds the kubeconfig of the managed cluster, under the key
	// ManagedKubeconfigKey, where the agent runs on a hosting cluster. The administrator
	// who sets up hosted mode creates it. addon-framework's templates use the same name:
	// <add-on>-managed-kubeconfig.
	ManagedKubeconfigSecret = AddonName + "-managed-kubeconfig"

	// ManagedKubeconfigKey is the key in ManagedKubeconfigSecret.
	ManagedKubeconfigKey = "kubeconfig"

	// UninstallMarker is a ConfigMap that the pre-delete hook creates to make the agent
	// stop. It is never mirrored. See docs/design.md#uninstall.
	UninstallMarker = "helloworld-agent-uninstall"

	// UninstallJob is the prefix of the name of the pre-delete hook's Job.
	UninstallJob = "helloworld-agent-uninstall"

	// AgentLease is the Lease that the agent renews and OCM's registration agent reads.
	// It must have the add-on's name.
	AgentLease = AddonName
)

// Labels and annotations.
const (
	// Prefix is the prefix of every label and annotation of this add-on.
	Prefix = "helloworld.open-cluster-management.io/"

	// SyncLabel on a ConfigMap on the hub, with the value SyncDisabled, excludes it from
	// the mirror.
	SyncLabel = Prefix + "sync"

	// SyncDisabled is the value of SyncLabel that opts out.
	SyncDisabled = "disabled"

	// SourceAnnotation on a copy names its source on the hub as namespace/name.
	SourceAnnotation = Prefix + "source"

	// AdoptAnnotation on a ConfigMap on the managed cluster, with the value AdoptTrue,
	// lets the agent adopt it as its copy.
	AdoptAnnotation = Prefix + "adopt"

	// AdoptTrue is the value of AdoptAnnotation that lets the agent adopt.
	AdoptTrue = "true"

	// ReleaseAnnotation on the ManagedClusterAddOn, with the value ReleaseTrue,
	// makes the agent carry out deletions that it holds. On a ConfigMapReplicaSet, with the
	// value of status.heldRemovals.id, it releases those removals.
	ReleaseAnnotation = Prefix + "release-deletions"

	// ReleaseTrue is the value of ReleaseAnnotation that releases.
	ReleaseTrue = "true"

	// ManagedByLabel on a copy, with the value ManagedByAgent, means that the agent owns
	// it.
	ManagedByLabel = "app.kubernetes.io/managed-by"

	// ManagedByAgent is the value of ManagedByLabel on a copy.
	ManagedByAgent = "helloworld-agent"

	// UninstallLabel on the ConfigMap UninstallMarker is the UID of the
	// ManagedClusterAddOn whose copies are being removed.
	UninstallLabel = Prefix + "uninstall"

	// ConfigHashAnnotation on the agent's Deployment is the hash of the
	// AddOnDeploymentConfig that it was rendered with, as OCM computes it.
	ConfigHashAnnotation = Prefix + "config-hash"

	// StoppedAnnotation on the ConfigMap UninstallMarker is the agent's confirmation that
	// it has stopped: the value of UninstallLabel that it saw.
	StoppedAnnotation = Prefix + "stopped"
)

// Marks of the ConfigMaps that a ConfigMapReplicaSet writes to the clusters' namespaces on the hub. One
// that lacks any of the first three is not the set's.
const (
	// ManagedByReplicaSet is the value of ManagedByLabel. It names the controller of
	// ConfigMapReplicaSets: its Deployment, ServiceAccount and leader election Lease.
	ManagedByReplicaSet = "helloworld-replicaset-controller"

	// ReplicaSetAnnotation names the set as namespace/name.
	ReplicaSetAnnotation = Prefix + "replica-set"

	// ReplicaSetUIDLabel is the UID of the set.
	ReplicaSetUIDLabel = Prefix + "replica-set-uid"

	// RevisionAnnotation is the revision of the set that the content is from.
	RevisionAnnotation = Prefix + "revision"

	// RevisionSinceAnnotation is when the cluster was given that revision, in RFC 3339.
	RevisionSinceAnnotation = Prefix + "revision-since"

	// ReplicaSetFinalizer on a ConfigMapReplicaSet keeps it until its ConfigMaps are removed.
	ReplicaSetFinalizer = Prefix + "replica-set"
)

// ReasonUninstalled is the reason of ConditionConfigMapsSynced with which the pre-delete
// hook reports that it has removed every copy.
const ReasonUninstalled = "Uninstalled"

// ConditionConfigMapsSynced is the type of the agent's condition on the
// ManagedClusterAddOn.
const ConditionConfigMapsSynced = "ConfigMapsSynced"
