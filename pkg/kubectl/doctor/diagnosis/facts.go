// Package diagnosis decides why the add-on is not as it should be on a cluster, as a person would who
// walks from the hub to the cluster: the cause first, what it has as consequence, and what to do.
//
// Examine is a function from facts to findings. Each rule looks at one link of the chain on which a copy
// depends, and reports at most what is wrong there:
//
//	hub           the add-on is installed, its controller runs and has its rights
//	cluster       the hub has accepted the cluster, and OCM's agents work there
//	enabled       there is a ManagedClusterAddOn, and its configuration is valid
//	shipped       the ManifestWorks are there, and the cluster has applied them
//	credentials   a certificate was requested, approved and issued, and has its rights
//	agent         a pod runs, reads its credentials and reaches the hub
//	copies        every ConfigMap has its copy
//
// A broken link explains what is wrong with the links after it, so those findings are its consequences.
//
// The package reads no cluster and no clock. It takes a fact that is missing because it could not be read
// for unknown, and not for absent (Facts.NotRead).
package diagnosis

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
)

// Resource is a kind of objects, or a kind of answers of an API server, that can be read or not.
type Resource string

// What is read of the hub, and of the managed cluster.
const (
	AddOnDefinition Resource = "the ClusterManagementAddOn"
	Controller      Resource = "the controller's Deployment"
	ControllerPods  Resource = "the controller's pods"
	ControllerRole  Resource = "the controller's rights"
	HubRole         Resource = "the agents' ClusterRole"
	ManagedClusters Resource = "ManagedClusters"
	AddOns          Resource = "ManagedClusterAddOns"
	Configs         Resource = "AddOnDeploymentConfigs"
	Works           Resource = "ManifestWorks"
	Requests        Resource = "CertificateSigningRequests"
	Bindings        Resource = "RoleBindings"
	Mirrors         Resource = "ConfigMapMirrors"
	Events          Resource = "Events"

	Klusterlet      Resource = "the Klusterlet on the managed cluster"
	KlusterletPods  Resource = "the pods of OCM's agents on the managed cluster"
	Secrets         Resource = "the Secrets of OCM's registration agent"
	AgentNamespace  Resource = "the install namespace on the managed cluster"
	AgentDeployment Resource = "the agent's Deployment on the managed cluster"
	AgentPods       Resource = "the agent's pods on the managed cluster"
	AgentSecret     Resource = "the agent's Secret on the managed cluster"
	AgentLease      Resource = "the agent's Lease on the managed cluster"
	AgentLog        Resource = "the agent's log on the managed cluster"
	AgentRights     Resource = "the agent's rights on the managed cluster"
	Copies          Resource = "ConfigMaps on the managed cluster"
)

// NotRead is a resource that could not be read.
type NotRead struct {
	Resource Resource `json:"resource"`
	Error    string   `json:"error"`
}

// Facts are what is known of the add-on on one cluster.
type Facts struct {
	// Now is the time of the person who asks.
	Now time.Time
	// Cluster is the name of the managed cluster.
	Cluster string
	// Flags are those with which kubectl reaches the hub, each after a space. For example, " --context=hub".
	Flags string

	Hub Hub
	// ManagedCluster is nil if the hub has none of the name. Hosting is the hosting cluster of the add-on,
	// nil if there is none of the name.
	ManagedCluster, Hosting *clusterv1.ManagedCluster
	// AddOn is nil if the add-on is not enabled.
	AddOn *addonv1beta1.ManagedClusterAddOn
	// Works are the add-on's for this cluster, in its namespace and in that of its hosting cluster.
	Works []*workv1.ManifestWork
	// Requests are the add-on's for this cluster.
	Requests []*certificatesv1.CertificateSigningRequest
	// Binding is the RoleBinding with the agent's rights, or nil.
	Binding *rbacv1.RoleBinding
	// Mirror is nil if there is none.
	Mirror *v1alpha1.ConfigMapMirror
	// Events are those of the namespace on the hub that are about ConfigMaps.
	Events []corev1.Event

	// Managed is nil if the managed cluster was not read.
	Managed *Managed
	// NotRead is what could not be read.
	NotRead []NotRead
}

// Hub is what all clusters of a hub have in common.
type Hub struct {
	// Installed reports whether there is a ClusterManagementAddOn of the add-on.
	Installed bool
	// Placements are those that enable the add-on, as namespace/name.
	Placements []string
	// MirrorsServed reports whether the hub has the CRD of ConfigMapMirrors.
	MirrorsServed bool
	// Controller is nil if there is no Deployment of it.
	Controller *Workload
	// Lease is the controller's leader election lease, or nil.
	Lease *coordinationv1.Lease
	// ControllerDenied are the rights that the controller lacks. For example, "create manifestworks".
	ControllerDenied []string
	// HasRole reports whether there is the agents' ClusterRole.
	HasRole bool
	// Configs are all AddOnDeploymentConfigs, by namespace/name.
	Configs map[string]bool
}

// Workload is a Deployment with its pods.
type Workload struct {
	Deployment *appsv1.Deployment
	Pods       []*corev1.Pod
	// Events are those about its pods, oldest first.
	Events []corev1.Event
}

// Managed is what is known of the managed cluster, and in hosted mode of the hosting cluster, where the agents run. Its reader
// makes sure that it is the right one: what is missing on another cluster means nothing.
type Managed struct {
	// Flags are those with which kubectl reaches it, each after a space.
	Flags string
	// Registration are the facts of OCM's registration agent, or nil.
	Registration *registration.Facts
	// OtherHub is the URL of another hub that the registration agent has joined, or empty. The managed cluster names it.
	OtherHub string
	// OCM are the Deployments of OCM's agents, sorted by name. There are none where the agents run in another way.
	OCM []*Workload
	// Namespace is the install namespace, or nil.
	Namespace *corev1.Namespace
	// Agent is nil if there is no Deployment of the agent.
	Agent *Workload
	// Hook are the pods of the pre-delete hook.
	Hook *Workload
	// Secret is the agent's credentials, or nil.
	Secret *corev1.Secret
	// SecretOfHub reports whether these are known to be for the hub of the person who asks.
	SecretOfHub bool
	// Lease is the agent's, or nil.
	Lease *coordinationv1.Lease
	// AgentLog is the end of the agent's log. It is read if LeaseLate.
	AgentLog string
	// Denied are the rights that the agent lacks.
	Denied []string
	// Marker is the ConfigMap with which an uninstall stops the agent, or nil.
	Marker *corev1.ConfigMap
}

// unread reports whether one of the resources could not be read, so that its absence means nothing.
func (f *Facts) unread(resources ...Resource) bool {
	return slices.ContainsFunc(f.NotRead, func(n NotRead) bool { return slices.Contains(resources, n.Resource) })
}

// condition returns a condition of the ManagedClusterAddOn, or an empty one.
func (f *Facts) condition(kind string) metav1.Condition {
	if f.AddOn == nil {
		return metav1.Condition{}
	}
	return conditionOf(f.AddOn.Status.Conditions, kind)
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// deleting reports whether the add-on is being disabled.
func (f *Facts) deleting() bool { return f.AddOn != nil && f.AddOn.DeletionTimestamp != nil }

// enabledFor returns how long the add-on has been enabled.
func (f *Facts) enabledFor() time.Duration { return f.Now.Sub(f.AddOn.CreationTimestamp.Time) }

// hosting returns the name of the hosting cluster, or an empty string.
func (f *Facts) hosting() string {
	if f.AddOn == nil {
		return ""
	}
	return f.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey]
}

// namespace returns the install namespace.
func (f *Facts) namespace() string { return InstallNamespace(f.AddOn) }

// InstallNamespace returns the add-on's install namespace. The managed cluster can write the status that names it: anything
// but a name of a namespace is ignored.
func InstallNamespace(addOn *addonv1beta1.ManagedClusterAddOn) string {
	if addOn != nil && len(validation.IsDNS1123Label(addOn.Status.Namespace)) == 0 {
		return addOn.Status.Namespace
	}
	return manifests.DefaultInstallNamespace
}

// hub returns a command of kubectl for the hub. The arguments are quoted.
func (f *Facts) hub(arguments ...string) string {
	return "kubectl" + f.Flags + " " + shell.Quote(arguments...)
}

// there returns a command of kubectl for the managed cluster.
func (f *Facts) there(arguments ...string) string {
	flags := " --kubeconfig=FILE"
	if f.Managed != nil {
		flags = f.Managed.Flags
	}
	return "kubectl" + flags + " " + shell.Quote(arguments...)
}

// plugin returns a command of this plugin. kubectl accepts no flag before the name of a plugin.
func (f *Facts) plugin(arguments ...string) string {
	return "kubectl helloworld " + shell.Quote(arguments...) + f.Flags
}
