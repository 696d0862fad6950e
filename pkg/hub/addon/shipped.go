package addon

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

// Shipped is what the ManifestWorks of an add-on install now.
//
// A managed cluster may change the ManifestWorks in its own namespace of the hub,
// labels included (OCM's ClusterRole of the work agent has update and patch:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/hub/manifests/rbac/managedcluster-work-clusterrole.yaml).
// So what a work says reaches no cluster but the one whose namespace it is in.
type Shipped struct {
	Place
	Deployment *appsv1.Deployment
	// Objects are all objects of the works, as they are shipped: from the hosting
	// cluster's work those for the hosting cluster, from the managed cluster's those
	// for the managed cluster.
	Objects []runtime.Object
}

// NewShipped returns what the works of the add-on install, or nil when none of
// them carries an agent. Where several do, as after a change of the hosting
// cluster with an earlier version, the one that the annotation names counts.
// works are those that ownWorks returns.
func NewShipped(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) (*Shipped, error) {
	var shipped *Shipped
	decoded := map[string][]runtime.Object{} // by the work's namespace
	for _, work := range works {
		objects, deployment, err := decodeWork(addon, work)
		if err != nil {
			if formerHost(addon, work) {
				continue // it is not this add-on's cluster that could mend it
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

// ownWorks returns those of the works that belong to this very ManagedClusterAddOn.
// Works that are being deleted, and those of an earlier ManagedClusterAddOn of the
// name, do not.
//
// A work in another cluster's namespace has no owner, because Kubernetes allows
// none in another namespace, and its labels prove nothing. It counts where a user
// of the hub has named that cluster as the hosting cluster, or where the framework
// has shipped to a hosting cluster before: a former one is then to be found, which
// keeps the add-on as it is. The finalizer that tells it is metadata, which managed
// clusters cannot write.
func ownWorks(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) []*workv1.ManifestWork {
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

// formerHost reports whether the work is neither in the managed cluster's namespace
// nor in that of the hosting cluster.
func formerHost(addon *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) bool {
	return work.Namespace != addon.Namespace && work.Namespace != HostingCluster(addon)
}

// decodeWork returns the objects that the work may install on the cluster whose
// namespace it is in, and the agent's Deployment among them, or nil.
func decodeWork(addon *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) ([]runtime.Object, *appsv1.Deployment, error) {
	objects := make([]runtime.Object, 0, len(work.Spec.Workload.Manifests))
	var agent *appsv1.Deployment
	for i := range work.Spec.Workload.Manifests {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(work.Spec.Workload.Manifests[i].Raw); err != nil {
			return nil, nil, fmt.Errorf("decode manifest %d of ManifestWork %s/%s: %w", i, work.Namespace, work.Name, err)
		}
		if isOnHosting(object) == (work.Namespace == addon.Namespace) {
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

// neighboursIn returns the agents that the works in one cluster's namespace ship
// to it.
func neighboursIn(works []*workv1.ManifestWork) ([]neighbour, error) {
	var neighbours []neighbour
	for _, work := range works {
		namespace, err := agentNamespace(work)
		if err != nil {
			return nil, err
		}
		if work.DeletionTimestamp != nil || namespace == "" {
			continue
		}
		cluster := work.Labels[addonv1beta1.AddonNamespaceLabelKey]
		if cluster == "" {
			cluster = work.Namespace
		}
		neighbours = append(neighbours, neighbour{Cluster: cluster, Namespace: namespace})
	}
	return neighbours, nil
}

// agentNamespace returns the namespace of the agent that the work carries, or
// nothing. It decodes no more than it needs: a hosting cluster has many works.
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

// hasRun reports whether an agent has been rolled out with the config with which it
// is shipped: OCM's add-on manager then puts its hash as lastAppliedConfig.
func (s *Shipped) hasRun(addon *addonv1beta1.ManagedClusterAddOn) bool {
	reference := configReference(addon)
	return reference != nil && reference.LastAppliedConfig != nil &&
		reference.LastAppliedConfig.SpecHash == s.Deployment.Annotations[manifests.ConfigHashAnnotation]
}

// values returns the values with which the shipped agent was rendered, as far as
// the pre-delete hook depends on them. The hook of an add-on whose config has
// gone from its status is then the same Job as before.
func (s *Shipped) values(addon *addonv1beta1.ManagedClusterAddOn) Values {
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
