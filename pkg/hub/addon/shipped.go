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

// Shipped is what the ManifestWorks of an add-on install now. A managed cluster
// cannot write it, unlike the add-on's status.
type Shipped struct {
	Place
	Deployment *appsv1.Deployment
	// Objects are all objects of the works, as they are shipped.
	Objects []runtime.Object
}

// NewShipped returns what the works of the add-on install, or nil when none of
// them carries an agent. Where several do, as after a change of the hosting
// cluster with an earlier version, the one that the annotation names counts.
// Works that are being deleted, and those of an earlier ManagedClusterAddOn of
// the name, do not count.
func NewShipped(addon *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) (*Shipped, error) {
	var shipped *Shipped
	var objects []runtime.Object
	for _, work := range works {
		if !current(addon, work) {
			continue
		}
		found, err := decodeWork(work)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
		deployment, err := agentOf(found)
		if err != nil {
			return nil, fmt.Errorf("decode the agent's Deployment in ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
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
		shipped.Objects = objects
	}
	return shipped, nil
}

// current reports whether the work belongs to this very ManagedClusterAddOn. A
// work in a hosting cluster's namespace has no owner: Kubernetes allows none in
// another namespace.
func current(addon *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) bool {
	if work.DeletionTimestamp != nil {
		return false
	}
	owner := metav1.GetControllerOf(work)
	return owner == nil || owner.UID == addon.UID
}

func decodeWork(work *workv1.ManifestWork) ([]runtime.Object, error) {
	objects := make([]runtime.Object, 0, len(work.Spec.Workload.Manifests))
	for i := range work.Spec.Workload.Manifests {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(work.Spec.Workload.Manifests[i].Raw); err != nil {
			return nil, fmt.Errorf("decode manifest %d of ManifestWork %s/%s: %w", i, work.Namespace, work.Name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func agentOf(objects []runtime.Object) (*appsv1.Deployment, error) {
	for _, object := range objects {
		found, ok := object.(*unstructured.Unstructured)
		if !ok || found.GetKind() != "Deployment" || found.GetName() != manifests.AgentDeployment {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, deployment); err != nil {
			return nil, err
		}
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			return nil, fmt.Errorf("it has no container")
		}
		return deployment, nil
	}
	return nil, nil
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
