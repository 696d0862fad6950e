package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

// Inputs are everything that the plan of one set depends on.
type Inputs struct {
	// Set is the set with its status as it is stored.
	Set *v1alpha1.ConfigMapReplicaSet

	// Revisions are the stored revisions of the set.
	Revisions []Revision
	// Desired is the revision of the sources as they are now. It is empty if there is none; SourceProblem
	// is why then, for example that a ConfigMap does not exist.
	Desired, SourceProblem string

	// Placements are the Placements that the set names. One that is missing here is not readable.
	Placements map[string]Placement
	// Enabled reports whether the add-on is enabled on a cluster.
	Enabled func(cluster string) bool
	// Objects are the ConfigMaps in the namespaces of clusters that carry the set's UID, or have the name
	// of one that the set wants there.
	Objects []Object
	// Reports are the ConfigMaps in the status of each cluster's ConfigMapMirror.
	Reports map[string][]v1alpha1.MirroredConfigMap
	// Refusals are the writes that the API server refuses.
	Refusals []Refusal
	// Claimed returns the namespace and name of an older set that writes this ConfigMap on this cluster,
	// or an empty string.
	Claimed func(cluster, name string) string
	// Content returns what a cluster gets with a stored revision.
	Content func(cluster, revision string) Content

	// RemovalDelay is how long removals from many clusters are held.
	RemovalDelay time.Duration
	Now          time.Time
}

// Revision is a stored revision.
type Revision struct {
	// Name is its hash. The revision with the highest number is rolled out.
	Name   string
	Number int64
}

// Content is what a cluster gets with a revision.
type Content struct {
	// Hashes are the hashes of the ConfigMaps' content by name.
	Hashes map[string]string
	// Problem is why the cluster cannot get the revision, for example a missing label, or empty.
	Problem string
}

// Placement is what is known of a Placement.
type Placement struct {
	Groups []steps.Group
	// Gone reports that it does not exist, and so has no groups. Nothing is known of a Placement that is neither Gone nor
	// Readable; Problem is why.
	Gone, Readable bool
	Problem        string
}

// Object is a ConfigMap in a cluster's namespace.
type Object struct {
	Cluster, Name   string
	UID             types.UID
	ResourceVersion string

	// ManagedBy, Set and SetUID are the marks of the set that it belongs to.
	ManagedBy, Set, SetUID string
	// Revision is what it was written with, and Since when the cluster was given that revision. Since is
	// zero if the annotation is missing or invalid.
	Revision string
	Since    time.Time
	// Content is the hash of its content, as in Content.Hashes.
	Content string
	// Immutable reports that the API server refuses a change of its content.
	Immutable bool
	// Deleting reports that it is being deleted and a finalizer holds it.
	Deleting bool
}

// NewObject returns the object of a ConfigMap whose content has this hash.
func NewObject(c *corev1.ConfigMap, content string) Object {
	// A time that cannot be parsed is zero, and so is written again.
	since, _ := time.Parse(time.RFC3339, c.Annotations[manifests.RevisionSinceAnnotation])
	return Object{
		Cluster: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
		ManagedBy: c.Labels[manifests.ManagedByLabel], Set: c.Annotations[manifests.ReplicaSetAnnotation],
		SetUID:   c.Labels[manifests.ReplicaSetUIDLabel],
		Revision: c.Annotations[manifests.RevisionAnnotation], Since: since,
		Content: content, Immutable: c.Immutable != nil && *c.Immutable, Deleting: c.DeletionTimestamp != nil,
	}
}

// Owned reports whether the object belongs to the set: it carries all marks of it.
func (o Object) Owned(set *v1alpha1.ConfigMapReplicaSet) bool {
	return o.ManagedBy == manifests.ManagedByReplicaSet && o.Set == key(set) && o.SetUID == string(set.UID)
}

// owner returns who the object of another owner than the set belongs to, for messages.
func (o Object) owner(set *v1alpha1.ConfigMapReplicaSet) string {
	switch {
	case o.ManagedBy != manifests.ManagedByReplicaSet || o.Set == "":
		return "does not belong to a ConfigMapReplicaSet"
	case o.Set == key(set):
		// For example, the add-on was disabled on the cluster when the former set was deleted.
		return "is left of a former ConfigMapReplicaSet " + o.Set + ": delete the ConfigMap, and this set creates it"
	}
	return "belongs to ConfigMapReplicaSet " + o.Set
}

func key(set *v1alpha1.ConfigMapReplicaSet) string { return set.Namespace + "/" + set.Name }

// Older reports whether set a has a ConfigMap that both write on one cluster. It is the older one; of two
// of the same age, the first by namespace and name.
func Older(a, b *v1alpha1.ConfigMapReplicaSet) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return key(a) < key(b)
}

// Claims returns Inputs.Claimed of a set. others are sets that may have a source of the same name; selects returns the
// clusters that one of them selects, and is called at most once for each.
func Claims(set *v1alpha1.ConfigMapReplicaSet, others []*v1alpha1.ConfigMapReplicaSet,
	selects func(*v1alpha1.ConfigMapReplicaSet) map[string]bool) func(cluster, name string) string {
	older := map[string][]*v1alpha1.ConfigMapReplicaSet{} // by name of a source
	clusters := map[*v1alpha1.ConfigMapReplicaSet]map[string]bool{}
	for _, other := range others {
		if other.UID == set.UID || !Older(other, set) || other.DeletionTimestamp != nil {
			continue
		}
		for _, source := range other.Spec.ConfigMaps {
			if !slices.Contains(set.Spec.ConfigMaps, source) {
				continue
			}
			older[source.Name] = append(older[source.Name], other)
			if clusters[other] == nil {
				clusters[other] = selects(other)
			}
		}
	}
	return func(cluster, name string) string {
		for _, other := range older[name] {
			if clusters[other][cluster] {
				return key(other)
			}
		}
		return ""
	}
}

// Refusal is a write that the API server refuses in a way that a retry does not change.
type Refusal struct {
	Cluster string
	// Revision is the one that the write was for. It is empty for a deletion or release.
	Revision string
	Message  string
	// Since is when the API server refused it for the first time.
	Since time.Time
}

// Action is what a Write does.
type Action string

const (
	// Create creates the ConfigMap. That one exists already is a conflict, never a reason to update.
	Create Action = "create"
	// Update writes content and marks.
	Update Action = "update"
	// Replace deletes an immutable ConfigMap and creates it again.
	Replace Action = "replace"
	// Delete deletes the ConfigMap.
	Delete Action = "delete"
	// Release takes the marks off: the ConfigMap stays and belongs to no set.
	Release Action = "release"
)

// Write is one write to one ConfigMap. All but Create carry the UID and resourceVersion that the plan
// saw, as preconditions.
type Write struct {
	Action          Action
	Cluster, Name   string
	UID             types.UID
	ResourceVersion string
	// Revision and Since are the marks that it gets, Content is the hash of the content; all for Create,
	// Update and Replace.
	Revision string
	Since    time.Time
	Content  string
}

// String returns the write for logs and tests.
func (w Write) String() string {
	text := fmt.Sprintf("%s %s/%s", w.Action, w.Cluster, w.Name)
	if w.Revision != "" {
		text += " " + w.Revision
	}
	return text
}

// Event is an event on the set.
type Event struct {
	Type, Reason, Message string
}

// Result is what has to be done. It is done in the order of the fields, and stops at the first failure of
// AddFinalizer or StoreRevision.
type Result struct {
	// AddFinalizer comes alone: nothing is written before the set has its finalizer.
	AddFinalizer bool
	// StoreRevision is a revision to store, or to give a higher number, or nil. It is rolled out by the
	// next plan, which sees it stored.
	StoreRevision *Revision
	// Writes are sorted by cluster. Those to one cluster are made in this order, one after the other, and end
	// with the first that fails: nothing is removed before the rest is there.
	Writes []Write
	// Obstacles are why selected clusters cannot get the updated revision, by cluster. Stopped has a sentence for each Placement
	// whose rollout stopped or whose strategy is invalid. Status has the first of them; "kubectl helloworld diff" prints all.
	Obstacles map[string]string
	Stopped   []string
	// DeleteRevisions are the names of revisions that the history does not keep.
	DeleteRevisions []string
	// Status is the whole status to write, if it differs.
	Status v1alpha1.ConfigMapReplicaSetStatus
	// Events are to be emitted when Status was written.
	Events []Event
	// RemoveFinalizer comes alone: nothing is left of the set, but on clusters without the add-on. The caller
	// reads the set's objects, and the add-ons of clusters that have some, from the API server first, because
	// its caches may be stale.
	RemoveFinalizer bool
	// Recheck is when to plan again though nothing changed, or zero.
	Recheck time.Time
}
