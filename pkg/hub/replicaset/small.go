package replicaset

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// The objects that a hub has most of are cached in a small form: 100 sets on 5,000 clusters are 500,000 ConfigMaps,
// and as many entries in ConfigMapMirrors. What many of them have in common is stored once, by package unique. An
// object of the cache is never changed.

// deliveredObject is a ConfigMap that carries a set's label, with a hash instead of the content.
type deliveredObject struct {
	common  unique.Handle[commonMarks]
	cluster unique.Handle[string]
	uid     types.UID
	version string
	// content is plan.Object.Content, as a number. since is plan.Object.Since in Unix seconds.
	content uint64
	since   int64
}

// commonMarks are what the ConfigMaps of one revision have in common.
type commonMarks struct {
	name, managedBy, set, setUID, revision string
	immutable, deleting                    bool
}

// slimDelivered is the transform of ConfigMaps that carry a set's label.
func slimDelivered(object any) (any, error) {
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		return object, nil
	}
	full := plan.NewObject(configMap, render.ContentOf(configMap).Sum())
	return &deliveredObject{
		common: unique.Make(commonMarks{name: full.Name, managedBy: full.ManagedBy, set: full.Set, setUID: full.SetUID, revision: full.Revision,
			immutable: full.Immutable, deleting: full.Deleting}),
		cluster: unique.Make(full.Cluster), uid: full.UID, version: full.ResourceVersion,
		content: numberOf(full.Content), since: full.Since.Unix(),
	}, nil
}

// object returns what a plan reads.
func (d *deliveredObject) object() plan.Object {
	common := d.common.Value()
	object := plan.Object{
		Cluster: d.cluster.Value(), Name: common.name, UID: d.uid, ResourceVersion: d.version,
		ManagedBy: common.managedBy, Set: common.set, SetUID: common.setUID, Revision: common.revision,
		Content: digitsOf(d.content), Immutable: common.immutable, Deleting: common.deleting,
	}
	if d.since != (time.Time{}).Unix() {
		object.Since = time.Unix(d.since, 0).UTC()
	}
	return object
}

// GetObjectMeta makes it a metav1.ObjectMetaAccessor, for the informer.
func (d *deliveredObject) GetObjectMeta() metav1.Object {
	common := d.common.Value()
	return &metav1.ObjectMeta{Namespace: d.cluster.Value(), Name: common.name, UID: d.uid, ResourceVersion: d.version,
		Labels: map[string]string{manifests.ReplicaSetUIDLabel: common.setUID}}
}

// GetObjectKind and DeepCopyObject make it a runtime.Object.
func (d *deliveredObject) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself.
func (d *deliveredObject) DeepCopyObject() runtime.Object { return d }

// numberOf returns a hash of 16 hexadecimal digits as a number, and digitsOf the digits.
func numberOf(digits string) uint64 {
	var number [8]byte
	_, _ = hex.Decode(number[:], []byte(digits)) // render.Content.Sum returns 16 digits
	return binary.BigEndian.Uint64(number[:])
}

func digitsOf(number uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, number))
}

// mirrorObject is a ConfigMapMirror, with the entries that have a revision.
type mirrorObject struct {
	cluster, name string
	uid           types.UID
	version       string
	entries       []mirrorEntry
}

// mirrorEntry is an entry of a ConfigMapMirror. since is in Unix seconds.
type mirrorEntry struct {
	common  unique.Handle[commonReport]
	message string
	since   int64
}

// commonReport is what clusters that report the same ConfigMap have in common.
type commonReport struct {
	name, revision string
	state          v1alpha1.MirrorState
}

// slimMirror is the transform of ConfigMapMirrors.
func slimMirror(object any) (any, error) {
	mirror, ok := object.(*v1alpha1.ConfigMapMirror)
	if !ok {
		return object, nil
	}
	slim := &mirrorObject{cluster: mirror.Namespace, name: mirror.Name, uid: mirror.UID, version: mirror.ResourceVersion}
	var report v1alpha1.ConfigMapMirrorStatus
	if mirror.Status != nil {
		report = *mirror.Status
	}
	for _, entry := range report.ConfigMaps {
		if entry.Revision != "" {
			slim.entries = append(slim.entries, mirrorEntry{
				common:  unique.Make(commonReport{name: entry.Name, revision: entry.Revision, state: entry.State}),
				message: entry.Message, since: entry.Since.Unix(),
			})
		}
	}
	slim.entries = slices.Clone(slim.entries) // without the spare capacity
	return slim, nil
}

// of returns the entries of some revisions.
func (m *mirrorObject) of(revisions map[string]bool) (entries []v1alpha1.MirroredConfigMap) {
	for _, entry := range m.entries {
		if common := entry.common.Value(); revisions[common.revision] {
			entries = append(entries, v1alpha1.MirroredConfigMap{Name: common.name, Revision: common.revision, State: common.state,
				Message: entry.message, Since: metav1.Unix(entry.since, 0)})
		}
	}
	return entries
}

// without returns the object with those of its entries that another does not have.
func (m *mirrorObject) without(other *mirrorObject) *mirrorObject {
	has := make(map[mirrorEntry]bool, len(other.entries))
	for _, entry := range other.entries {
		has[entry] = true
	}
	rest := *m
	rest.entries = nil
	for _, entry := range m.entries {
		if !has[entry] {
			rest.entries = append(rest.entries, entry)
		}
	}
	return &rest
}

// GetObjectMeta makes it a metav1.ObjectMetaAccessor, for the informer.
func (m *mirrorObject) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: m.cluster, Name: m.name, UID: m.uid, ResourceVersion: m.version}
}

// GetObjectKind and DeepCopyObject make it a runtime.Object.
func (m *mirrorObject) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself.
func (m *mirrorObject) DeepCopyObject() runtime.Object { return m }
