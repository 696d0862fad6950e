package status

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// A resource is a kind of object that is read of all clusters.
type resource struct {
	kind  string // as in messages
	lacks string // what is not known without it
	// paths are the resource's in the versions of its API, the preferred one first.
	paths      []string
	parameters map[string]string
	// read decodes an object.
	read func(decode func(any) error) (entry, error)
}

// entry is what is kept of an object.
type entry struct {
	key string
	// cluster is empty for an object that tells nothing, and no cluster has that name.
	cluster string
	// labels are those of a ManagedCluster.
	labels map[string]string
	// fill sets the object's part of the cluster's facts.
	fill func(*report.Facts)
}

// What is read, in this order.
const (
	clusters = iota
	addOns
	mirrors
	works
	resourceCount
)

const (
	addonAPI   = "/apis/" + addonv1alpha1.GroupName + "/"
	management = "/clustermanagementaddons/" + manifests.AddonName
	byName     = "metadata.name=" + manifests.AddonName
)

// resourcesFor returns the resources for the clusters that the label selector selects.
func resourcesFor(selector string) [resourceCount]resource {
	return [resourceCount]resource{
		clusters: {
			kind: "ManagedClusters", lacks: "clusters without the add-on are missing",
			paths:      []string{"/apis/" + clusterv1.GroupName + "/v1/managedclusters"},
			parameters: map[string]string{"labelSelector": selector}, read: reader(clusterOf),
		},
		addOns: {
			kind: "ManagedClusterAddOns", lacks: "how the add-on is on the clusters is not known",
			// OCM stores v1alpha1 and converts any other version by requests to a webhook.
			paths:      []string{addonAPI + "v1alpha1/managedclusteraddons", addonAPI + "v1beta1/managedclusteraddons"},
			parameters: map[string]string{"fieldSelector": byName}, read: reader(addOnOf),
		},
		mirrors: {
			kind: "ConfigMapMirrors", lacks: "SYNCED is from the condition ConfigMapsSynced",
			paths:      []string{"/apis/" + v1alpha1.GroupVersion.String() + "/configmapmirrors"},
			parameters: map[string]string{"fieldSelector": byName}, read: reader(mirrorOf),
		},
		works: {
			kind: "ManifestWorks", lacks: "AGENT is not known",
			paths:      []string{"/apis/" + workv1.GroupName + "/v1/manifestworks"},
			parameters: map[string]string{"labelSelector": addonv1beta1.AddonLabelKey + "=" + manifests.AddonName}, read: reader(workOf),
		},
	}
}

// reader returns the read of a resource whose objects are decoded into T.
func reader[T any](entryOf func(*T) entry) func(decode func(any) error) (entry, error) {
	return func(decode func(any) error) (entry, error) {
		object := new(T)
		if err := decode(object); err != nil {
			return entry{}, err
		}
		return entryOf(object), nil
	}
}

// metadata is the part of an object's metadata that is used: ObjectMeta would decode the managed fields.
type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp metav1.Time       `json:"creationTimestamp"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
	Generation        int64             `json:"generation"`
}

func (m *metadata) key() string { return m.Namespace + "/" + m.Name }

type managedCluster struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		HubAcceptsClient bool `json:"hubAcceptsClient"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func clusterOf(o *managedCluster) entry {
	cluster := &report.Cluster{Accepted: o.Spec.HubAcceptsClient}
	for i := range o.Status.Conditions {
		if o.Status.Conditions[i].Type == clusterv1.ManagedClusterConditionAvailable {
			available := o.Status.Conditions[i]
			cluster.Available = &available
		}
	}
	return entry{key: o.Metadata.key(), cluster: o.Metadata.Name, labels: o.Metadata.Labels, fill: func(f *report.Facts) { f.Cluster = cluster }}
}

type managedClusterAddOn struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func addOnOf(o *managedClusterAddOn) entry {
	addOn := &report.AddOn{
		Created: o.Metadata.CreationTimestamp, Deleted: o.Metadata.DeletionTimestamp, Conditions: o.Status.Conditions,
		HostingCluster: o.Metadata.Annotations[addonv1beta1.HostingClusterNameAnnotationKey],
	}
	return entry{key: o.Metadata.key(), cluster: o.Metadata.Namespace, fill: func(f *report.Facts) { f.AddOn = addOn }}
}

type configMapMirror struct {
	Metadata metadata `json:"metadata"`
	// Status is nil where the agent has not reported.
	Status *v1alpha1.ConfigMapMirrorStatus `json:"status"`
}

func mirrorOf(o *configMapMirror) entry {
	if o.Status == nil {
		return entry{key: o.Metadata.key()}
	}
	mirror := &report.Mirror{Total: int(o.Status.Total), Synced: int(o.Status.Synced), NotSynced: map[v1alpha1.MirrorState]report.Group{}}
	for _, c := range o.Status.ConfigMaps {
		if c.State == v1alpha1.MirrorSynced {
			continue
		}
		group, ok := mirror.NotSynced[c.State]
		if group.Count++; !ok || c.Since.Before(&group.Since) {
			group.Since, group.Message = c.Since, "ConfigMap "+c.Name+": "+c.Message
		}
		mirror.NotSynced[c.State] = group
	}
	return entry{key: o.Metadata.key(), cluster: o.Metadata.Namespace, fill: func(f *report.Facts) { f.Mirror = mirror }}
}

type manifestWork struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Workload struct {
			Manifests []json.RawMessage `json:"manifests"`
		} `json:"workload"`
	} `json:"spec"`
	Status workv1.ManifestWorkStatus `json:"status"`
}

// deployment is the agent's in a ManifestWork, or another object.
type deployment struct {
	Kind     string   `json:"kind"`
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

func workOf(o *manifestWork) entry {
	shipped := shippedBy(o)
	if shipped == nil { // for example, the pre-delete hook
		return entry{key: o.Metadata.key()}
	}
	agent := &report.Agent{Work: o.Metadata.Namespace, Running: isRunning(o, shipped.Metadata.Annotations[manifests.ConfigHashAnnotation])}
	for _, c := range shipped.Spec.Template.Spec.Containers {
		if c.Name == manifests.AgentDeployment {
			agent.Image = c.Image
		}
	}
	cluster := o.Metadata.Namespace
	if hosted := o.Metadata.Labels[addonv1beta1.AddonNamespaceLabelKey]; hosted != "" {
		cluster = hosted
	}
	return entry{key: o.Metadata.key(), cluster: cluster, fill: func(f *report.Facts) { f.Agent = agent }}
}

// shippedBy returns the agent's Deployment in a ManifestWork, or nil. It ignores a manifest of another form: a managed
// cluster may write its ManifestWorks, and must not hide those of the others.
func shippedBy(o *manifestWork) *deployment {
	for _, raw := range o.Spec.Workload.Manifests {
		var d deployment
		if json.Unmarshal(raw, &d) == nil && d.Kind == "Deployment" && d.Metadata.Name == manifests.AgentDeployment {
			return &d
		}
	}
	return nil
}

// isRunning reports whether the work agent has applied the ManifestWork as it is, and has reported that the agent's
// Deployment with this config is rolled out.
func isRunning(o *manifestWork, configHash string) bool {
	applied := slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == workv1.WorkApplied && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Metadata.Generation
	})
	return applied && plan.StateOf([]*workv1.ManifestWork{{Status: o.Status}}).RolledOut(configHash)
}
