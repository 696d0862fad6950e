package addon

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
	// HostingCluster is the cluster of the agent in hosted mode; empty means the
	// managed cluster itself.
	HostingCluster string
	// Namespace is the install namespace.
	Namespace string
}

// WantedPlace returns the place that the ManagedClusterAddOn and its config
// (nil: none) ask for. The error names the value to change.
func WantedPlace(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig) (Place, error) {
	namespace, from := wantedNamespace(addon, config)
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) is no valid name: %s",
			namespace, addon.Namespace, addon.Name, from, strings.Join(problems, "; "))
	}
	if err := checkHostedNamespace(addon, namespace); err != nil {
		return Place{}, err
	}
	if isSystemNamespace(namespace) {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) belongs to the cluster's system: "+
			"whoever may write ConfigMaps in namespace %s of the hub could plant a system ConfigMap there; name another namespace, such as %q",
			namespace, addon.Namespace, addon.Name, from, addon.Namespace, manifests.DefaultInstallNamespace)
	}
	if namespace == addon.Namespace {
		return Place{}, fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s (from %s) has the name of the cluster's namespace on the hub: "+
			"on a hub that manages itself each ConfigMap would be its own copy; name another namespace, such as %q",
			namespace, addon.Namespace, addon.Name, from, manifests.DefaultInstallNamespace)
	}
	return Place{HostingCluster: HostingCluster(addon), Namespace: namespace}, nil
}

// wantedNamespace returns the install namespace and the field that names it. In
// order: the config's agentInstallNamespace; the namespace in the
// ManagedClusterAddOn (v1alpha1's spec.installNamespace, which v1beta1 has as an
// annotation); OCM's default.
//
// The API server fills in OCM's default where a config names no namespace, so a
// config with the default cannot be told from one without. It therefore does not
// override a ManagedClusterAddOn: setting a proxy for an agent does not move it.
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

// isSystemNamespace reports whether a namespace belongs to Kubernetes, OpenShift
// or OCM itself. OCM's default namespace for add-ons is not among them.
func isSystemNamespace(name string) bool {
	return name != manifests.DefaultInstallNamespace && (strings.HasPrefix(name, "kube-") ||
		strings.HasPrefix(name, "openshift-") || name == "openshift" || strings.HasPrefix(name, "open-cluster-management"))
}

// settlePlace decides where the agent runs, given where it is to run and what is
// shipped now (nil: nothing).
//
// A namespace with copies is never left behind, so a change is refused while
// they may be there: only disabling the add-on removes them. Where nothing is
// shipped, for example because somebody deleted the ManifestWork, they are in the
// namespace of the status. The mode and the hosting cluster are not changed while
// an agent is shipped: OCM's framework leaves the former cluster's ManifestWork and
// its finalizer behind.
//
// While the add-on is being deleted the agent stays where it is: OCM drops
// configs from the status before the pre-delete hook has run.
func settlePlace(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig, shipped *Shipped) (Place, error) {
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
	if wanted.HostingCluster != present.HostingCluster {
		return present, fmt.Errorf("the annotation %s of ManagedClusterAddOn %s/%s now names %s, but the agent runs on %s: "+
			"set it back, or disable the add-on and enable it again: %s",
			addonv1beta1.HostingClusterNameAnnotationKey, addon.Namespace, addon.Name,
			hostName(wanted.HostingCluster), hostName(present.HostingCluster), disableCommand(addon))
	}
	if wanted == present || !everRan(addon) {
		return wanted, nil
	}
	_, from := wantedNamespace(addon, config)
	return present, fmt.Errorf("the install namespace of ManagedClusterAddOn %s/%s would move from %q to %q (from %s), "+
		"and the copies are in %q: set it back, or disable the add-on, which removes the copies, and enable it again: %s",
		addon.Namespace, addon.Name, present.Namespace, wanted.Namespace, from, present.Namespace, disableCommand(addon))
}

func hostName(hostingCluster string) string {
	if hostingCluster == "" {
		return "no hosting cluster"
	}
	return "hosting cluster " + hostingCluster
}

func disableCommand(addon *addonv1beta1.ManagedClusterAddOn) string {
	return fmt.Sprintf("kubectl delete managedclusteraddon -n %s %s", addon.Namespace, addon.Name)
}

// checkNeighbours refuses a place in which the agent of another add-on of the
// hub runs: OCM fixes the names of the lease and the secret, so two agents in one
// namespace of a cluster would share them. neighbours are the add-on's works in
// the namespace of the cluster where the agent would run.
func checkNeighbours(addon *addonv1beta1.ManagedClusterAddOn, place Place, neighbours []neighbour) error {
	for _, other := range neighbours {
		if other.Cluster == addon.Namespace || other.Namespace != place.Namespace {
			continue
		}
		host := place.HostingCluster
		if host == "" {
			host = addon.Namespace
		}
		return fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s on cluster %s is that of ManagedClusterAddOn %s/%s, "+
			"and two agents in one namespace would share their secret and lease: name another one, such as %q",
			place.Namespace, addon.Namespace, addon.Name, host, other.Cluster, addon.Name, "klusterlet-"+addon.Namespace)
	}
	return nil
}

// neighbour is an agent that is shipped to a cluster.
type neighbour struct {
	// Cluster is the managed cluster that the agent is for.
	Cluster string
	// Namespace is the agent's on the cluster where it runs.
	Namespace string
}

// everRan reports whether there may be copies. The agent writes none before its
// first report, so an add-on whose agent never came up is deleted without the
// pre-delete hook.
func everRan(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return meta.FindStatusCondition(addon.Status.Conditions, manifests.ConditionConfigMapsSynced) != nil
}

// uninstalled reports whether the pre-delete hook itself has reported that every
// copy is gone. The hub then does not wait until the work agent has seen the
// hook's end, up to a minute later. In hosted mode it does wait, because only
// then addon-framework removes the hook's ManifestWork on the hosting cluster.
func uninstalled(addon *addonv1beta1.ManagedClusterAddOn) bool {
	condition := meta.FindStatusCondition(addon.Status.Conditions, manifests.ConditionConfigMapsSynced)
	return condition != nil && condition.Reason == manifests.ReasonUninstalled &&
		!slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingPreDeleteHookFinalizer)
}
