package install

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Shipped is the agent that the add-on's ManifestWorks install now.
//
// A managed cluster can change the ManifestWorks in its own namespace of the hub,
// labels included, because OCM's ClusterRole of the work agent has update and patch:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/hub/manifests/rbac/managedcluster-work-clusterrole.yaml.
// So the content of a work never reaches another cluster than the one whose
// namespace it is in.
type Shipped struct {
	Place
	Deployment *appsv1.Deployment
	// Objects are all objects of the works as they are shipped: the hosting cluster's
	// from the work in its namespace, the managed cluster's from the work in its own.
	Objects []runtime.Object
}

// NewShipped returns what the works install, or nil when none of them has an agent.
// Where several have one, as after a change of the hosting cluster with an earlier
// version, the hosting cluster in the annotation decides. works are the result of
// OwnWorks.
func NewShipped(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) (*Shipped, error) {
	var shipped *Shipped
	decoded := map[string][]runtime.Object{} // by the work's namespace
	for _, work := range works {
		objects, deployment, err := decodeWork(addon, work)
		if err != nil {
			if formerHost(addon, work) {
				continue // a former hosting cluster must not block this one
			}
			return nil, err
		}
		decoded[work.Namespace] = append(decoded[work.Namespace], objects...)
		if deployment == nil {
			continue
		}
		place := Place{Namespace: deployment.Namespace}
		if work.Namespace != addon.Namespace {
			place.HostingCluster = work.Namespace
		}
		if shipped == nil || place.HostingCluster == HostingCluster(addon) {
			shipped = &Shipped{Place: place, Deployment: deployment}
		}
	}
	if shipped != nil {
		shipped.Objects = decoded[addon.Namespace]
		if shipped.HostingCluster != "" {
			shipped.Objects = append(shipped.Objects, decoded[shipped.HostingCluster]...)
		}
	}
	return shipped, nil
}

// OwnWorks returns the works that belong to this ManagedClusterAddOn, by UID. It
// leaves out works that are being deleted and those of an earlier
// ManagedClusterAddOn of the same name.
//
// A work in another cluster's namespace has no owner, because an owner reference
// cannot cross namespaces, and its labels prove nothing. It counts where a user of
// the hub named that cluster as the hosting cluster. It also counts where the
// framework has shipped to a hosting cluster before, so that a former one is found.
// The finalizer of hosted mode proves that: it is metadata, which managed clusters
// cannot write.
func OwnWorks(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) []*workv1.ManifestWork {
	var own []*workv1.ManifestWork
	for _, work := range works {
		if work.DeletionTimestamp != nil {
			continue
		}
		if owner := metav1.GetControllerOf(work); owner != nil && owner.UID != addon.UID {
			continue
		}
		if formerHost(addon, work) && !slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingManifestFinalizer) {
			continue
		}
		own = append(own, work)
	}
	return own
}

// formerHost reports whether the work is in the namespace of neither the managed
// cluster nor its hosting cluster.
func formerHost(addon *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) bool {
	return work.Namespace != addon.Namespace && work.Namespace != HostingCluster(addon)
}

// decodeWork returns the work's objects for the cluster in whose namespace it is,
// and the agent's Deployment among them, or nil.
func decodeWork(addon *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) ([]runtime.Object, *appsv1.Deployment, error) {
	objects := make([]runtime.Object, 0, len(work.Spec.Workload.Manifests))
	var agent *appsv1.Deployment
	for i := range work.Spec.Workload.Manifests {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(work.Spec.Workload.Manifests[i].Raw); err != nil {
			return nil, nil, fmt.Errorf("decode manifest %d of ManifestWork %s/%s: %w", i, work.Namespace, work.Name, err)
		}
		if IsOnHosting(object) == (work.Namespace == addon.Namespace) {
			continue
		}
		objects = append(objects, object)
		if object.GetKind() != "Deployment" || object.GetName() != manifests.AgentDeployment {
			continue
		}
		deployment, err := decodeAgent(object)
		if err != nil {
			return nil, nil, fmt.Errorf("decode the agent's Deployment in ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
		agent = deployment
	}
	return objects, agent, nil
}

func decodeAgent(object *unstructured.Unstructured) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
		return nil, err
	}
	if len(deployment.Spec.Template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("it has no container")
	}
	return deployment, nil
}

// NeighboursIn returns the agents that the works in one cluster's namespace ship to
// it for other ManagedClusterAddOns than addon.
func NeighboursIn(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) ([]Neighbour, error) {
	var neighbours []Neighbour
	for _, work := range works {
		cluster := work.Labels[addonv1beta1.AddonNamespaceLabelKey]
		if cluster == "" {
			cluster = work.Namespace
		}
		if work.DeletionTimestamp != nil || cluster == addon.Namespace {
			continue
		}
		namespace, err := agentNamespace(work)
		if err != nil {
			return nil, err
		}
		if namespace != "" {
			neighbours = append(neighbours, Neighbour{Cluster: cluster, Namespace: namespace})
		}
	}
	return neighbours, nil
}

// agentNamespace returns the namespace of the agent in the work; empty means that it
// has none. It decodes only metadata, because a hosting cluster has many works.
func agentNamespace(work *workv1.ManifestWork) (string, error) {
	for i := range work.Spec.Workload.Manifests {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &object); err != nil {
			return "", fmt.Errorf("decode manifest %d of ManifestWork %s/%s: %w", i, work.Namespace, work.Name, err)
		}
		if object.Kind == "Deployment" && object.Name == manifests.AgentDeployment {
			return object.Namespace, nil
		}
	}
	return "", nil
}

// HasRun reports whether the agent has been rolled out with the config with which it
// is shipped: OCM's add-on manager then writes its hash to lastAppliedConfig.
func (s *Shipped) HasRun(addon *addonv1beta1.ManagedClusterAddOn) bool {
	reference := ConfigReference(addon)
	return reference != nil && reference.LastAppliedConfig != nil &&
		reference.LastAppliedConfig.SpecHash == s.Deployment.Annotations[manifests.ConfigHashAnnotation]
}

// Values returns the values of the shipped agent on which the pre-delete hook
// depends. So the hook stays the same Job when OCM drops the config from the
// add-on's status.
func (s *Shipped) Values(addon *addonv1beta1.ManagedClusterAddOn) Values {
	pod := s.Deployment.Spec.Template.Spec
	container := pod.Containers[0]
	values := Values{
		ClusterName: addon.Namespace, AddOnUID: addon.UID,
		InstallNamespace: s.Namespace, Hosted: s.HostingCluster != "",
		Image: container.Image, NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations,
		Resources: container.Resources.DeepCopy(), PriorityClassName: pod.PriorityClassName,
	}
	values.ProxyEnv = slices.DeleteFunc(slices.Clone(container.Env), func(env corev1.EnvVar) bool {
		return !slices.Contains(proxyNames, env.Name)
	})
	if len(pod.ImagePullSecrets) > 0 {
		values.ImagePullSecret = pod.ImagePullSecrets[0].Name
	}
	for _, arg := range container.Args {
		if level, ok := strings.CutPrefix(arg, "--"+manifests.FlagVerbosity+"="); ok {
			values.LogVerbosity = level
		}
	}
	return values
}
