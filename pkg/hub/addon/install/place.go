// Package install decides what is installed for an add-on: with which config
// (DesiredConfig), where the agent runs (Place), with which values (Values), and as
// which objects (Render, RenderHook), given what is shipped now (Shipped).
//
// It is pure: package addon reads the hub's objects, and addon-framework writes the
// ManifestWorks.
package install

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Place is where the agent of an add-on runs.
type Place struct {
	// HostingCluster is the agent's cluster in hosted mode; empty means the managed
	// cluster itself.
	HostingCluster string
	// Namespace is the install namespace.
	Namespace string
}

// Cluster returns the cluster on which the agent of the add-on runs.
func (p Place) Cluster(addon *addonv1beta1.ManagedClusterAddOn) string {
	if p.HostingCluster != "" {
		return p.HostingCluster
	}
	return addon.Namespace
}

// HostingCluster returns the cluster on which the agent is to run instead of the
// managed cluster; empty means default mode. OCM's registration agent also takes an
// annotation without a value for default mode.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/configuration.go (isAddonRunningOutsideManagedCluster)
func HostingCluster(addon *addonv1beta1.ManagedClusterAddOn) string {
	return addon.Annotations[addonv1beta1.HostingClusterNameAnnotationKey]
}

// WantedPlace returns the place that the ManagedClusterAddOn and its config, which
// may be nil, ask for. It refuses system namespaces and, in hosted mode, namespaces
// that the hosting cluster needs itself. It refuses the cluster's own name
// (docs/design.md#rule-8-own-namespace). The error names the value to change.
func WantedPlace(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig) (Place, error) {
	namespace, from := wantedNamespace(addon, config)
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) is not a valid name: %s",
			namespace, addon.Namespace, addon.Name, from, strings.Join(problems, "; "))
	}
	if err := checkHostedNamespace(addon, namespace); err != nil {
		return Place{}, err
	}
	if isSystemNamespace(namespace) {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) belongs to the cluster's system: "+
			"a user who may write ConfigMaps in namespace %s of the hub could plant a system ConfigMap there; name another namespace, such as %q",
			namespace, addon.Namespace, addon.Name, from, addon.Namespace, exampleNamespace(addon))
	}
	if namespace == addon.Namespace {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) has the name of the cluster's namespace on the hub: "+
			"on a hub that manages itself each ConfigMap would be its own copy; name another namespace, such as %q",
			namespace, addon.Namespace, addon.Name, from, exampleNamespace(addon))
	}
	return Place{HostingCluster: HostingCluster(addon), Namespace: namespace}, nil
}

// exampleNamespace returns an install namespace for messages that WantedPlace accepts.
func exampleNamespace(addon *addonv1beta1.ManagedClusterAddOn) string {
	if HostingCluster(addon) != "" {
		return ownNamespace(addon)
	}
	return manifests.DefaultInstallNamespace
}

// ownNamespace returns an install namespace for this cluster alone, for messages.
func ownNamespace(addon *addonv1beta1.ManagedClusterAddOn) string {
	return "klusterlet-" + addon.Namespace
}

// wantedNamespace returns the install namespace and the field that names it: the
// config's agentInstallNamespace; else the namespace in the ManagedClusterAddOn
// (spec.installNamespace in v1alpha1, an annotation in v1beta1); else OCM's default.
//
// The API server fills in OCM's default where a config names no namespace, so the
// two cannot be told apart. A config with the default therefore does not override
// the ManagedClusterAddOn: for example, setting a proxy does not move the agent.
func wantedNamespace(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig) (namespace, from string) {
	namespace = addon.Annotations[addonv1beta1.InstallNamespaceAnnotation]
	from = "spec.installNamespace, or the annotation " + addonv1beta1.InstallNamespaceAnnotation
	if config != nil {
		named := config.Spec.AgentInstallNamespace
		if named != "" && (named != manifests.DefaultInstallNamespace || namespace == "") {
			return named, fmt.Sprintf("spec.agentInstallNamespace of AddOnDeploymentConfig %s/%s", config.Namespace, config.Name)
		}
	}
	if namespace == "" {
		return manifests.DefaultInstallNamespace, "OCM's default"
	}
	return namespace, from
}

// isSystemNamespace reports whether a namespace belongs to Kubernetes, OpenShift or
// OCM. OCM's default namespace for add-ons does not.
func isSystemNamespace(name string) bool {
	return name != manifests.DefaultInstallNamespace && (strings.HasPrefix(name, "kube-") ||
		strings.HasPrefix(name, "openshift-") || name == "openshift" || strings.HasPrefix(name, "open-cluster-management"))
}

// checkHostedNamespace refuses, in hosted mode, namespaces that the hosting cluster
// uses itself. OCM fixes the names of the lease and of the secret, so each agent on
// the hosting cluster needs a namespace of its own.
func checkHostedNamespace(addon *addonv1beta1.ManagedClusterAddOn, namespace string) error {
	host := HostingCluster(addon)
	if host == "" || (shipsNamespace(namespace) && namespace != manifests.DefaultInstallNamespace) {
		return nil
	}
	return fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s cannot be used in hosted mode: "+
		"name one for this cluster alone, such as %q, because the hosting cluster %s has agents of other clusters",
		namespace, addon.Namespace, addon.Name, ownNamespace(addon), host)
}

// SettlePlace returns where the agent runs, given what is shipped now, which may be
// nil. With an error it returns where the agent is now.
//
// It refuses to move the install namespace while copies may be there, because only
// disabling the add-on removes them. Where nothing is shipped, for example because a
// user deleted the ManifestWork, they are in the namespace of the status. It refuses
// to change the mode or the hosting cluster of a shipped agent, because
// addon-framework leaves the former cluster's ManifestWork and its finalizer behind.
//
// While the add-on is being deleted, a shipped agent stays where it is: OCM drops
// configs from the status before the pre-delete hook has run.
func SettlePlace(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig, shipped *Shipped) (Place, error) {
	if shipped != nil && addon.DeletionTimestamp != nil {
		return shipped.Place, nil
	}
	wanted, err := WantedPlace(addon, config)
	if err != nil {
		return wanted, err
	}
	present := wanted
	switch {
	case shipped != nil:
		present = shipped.Place
	case addon.Status.Namespace != "":
		present.Namespace = addon.Status.Namespace
	}
	disable := fmt.Sprintf("kubectl delete managedclusteraddon -n %s %s", addon.Namespace, addon.Name)
	if wanted.HostingCluster != present.HostingCluster {
		return present, fmt.Errorf("the annotation %s of ManagedClusterAddOn %s/%s now names %s, but the agent runs on %s: "+
			"set it back, or disable the add-on and enable it again: %s",
			addonv1beta1.HostingClusterNameAnnotationKey, addon.Namespace, addon.Name,
			hostName(wanted.HostingCluster), hostName(present.HostingCluster), disable)
	}
	if wanted == present || !EverRan(addon) {
		return wanted, nil
	}
	_, from := wantedNamespace(addon, config)
	return present, fmt.Errorf("the install namespace of ManagedClusterAddOn %s/%s would move from %q to %q (from %s), "+
		"and the copies are in %q: set it back, or disable the add-on, which removes the copies, and enable it again: %s",
		addon.Namespace, addon.Name, present.Namespace, wanted.Namespace, from, present.Namespace, disable)
}

func hostName(hostingCluster string) string {
	if hostingCluster == "" {
		return "no hosting cluster"
	}
	return "hosting cluster " + hostingCluster
}

// Neighbour is an agent that is shipped to the same cluster for another one.
type Neighbour struct {
	// Cluster is the managed cluster that the agent is for.
	Cluster string
	// Namespace is the agent's, on the cluster where it runs.
	Namespace string
}

// CheckNeighbours refuses a place where the agent of another ManagedClusterAddOn of
// this add-on runs: OCM fixes the names of the lease and of the secret, so two agents
// in one namespace of a cluster would share them.
func CheckNeighbours(addon *addonv1beta1.ManagedClusterAddOn, place Place, neighbours []Neighbour) error {
	for _, other := range neighbours {
		if other.Namespace != place.Namespace {
			continue
		}
		return fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s on cluster %s is that of ManagedClusterAddOn %s/%s, "+
			"and two agents in one namespace would share their secret and lease: name another one, such as %q",
			place.Namespace, addon.Namespace, addon.Name, place.Cluster(addon), other.Cluster, addon.Name, ownNamespace(addon))
	}
	return nil
}

// EverRan reports whether there may be copies. The agent writes none before its
// first report, so an add-on whose agent never reported is deleted without the
// pre-delete hook.
func EverRan(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return meta.FindStatusCondition(addon.Status.Conditions, manifests.ConditionConfigMapsSynced) != nil
}

// Uninstalled reports whether the pre-delete hook has reported that every copy is
// gone. The controller then does not wait until the work agent sees the hook's Job
// complete, up to a minute later. In hosted mode it waits, because only then
// addon-framework removes the hook's ManifestWork on the hosting cluster.
// See docs/design.md#uninstall.
func Uninstalled(addon *addonv1beta1.ManagedClusterAddOn) bool {
	condition := meta.FindStatusCondition(addon.Status.Conditions, manifests.ConditionConfigMapsSynced)
	return condition != nil && condition.Reason == manifests.ReasonUninstalled &&
		!slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingPreDeleteHookFinalizer)
}
