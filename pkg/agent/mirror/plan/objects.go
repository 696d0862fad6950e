package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Scope is the pair of namespaces that a mirror connects. They never have the same
// name (docs/design.md#rule-8-own-namespace).
type Scope struct {
	// HubNamespace is the managed cluster's namespace on the hub. It has the name
	// of the managed cluster.
	HubNamespace string
	// InstallNamespace is the namespace of the copies on the managed cluster.
	InstallNamespace string
}

// SourceOf returns the value of manifests.SourceAnnotation on the copy of a name,
// for example "cluster1/settings".
func (s Scope) SourceOf(name string) string {
	return s.HubNamespace + "/" + name
}

// onCluster names a ConfigMap in the install namespace in messages.
func (s Scope) onCluster(name string) string {
	return fmt.Sprintf("ConfigMap %s/%s on cluster %s", s.InstallNamespace, name, s.HubNamespace)
}

// owns reports whether a ConfigMap in the install namespace is this mirror's copy
// (docs/design.md#rule-3-ownership). The annotation has to name the source of the
// same name in this mirror's hub namespace, so two agents that share an install
// namespace leave each other's copies alone.
func (s Scope) owns(cm *corev1.ConfigMap) bool {
	return cm.Labels[manifests.ManagedByLabel] == manifests.ManagedByAgent &&
		cm.Annotations[manifests.SourceAnnotation] == s.SourceOf(cm.Name)
}

// excludedNames are published into every namespace, with content of each cluster's
// own: the first by Kubernetes' kube-controller-manager
// (https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/certificates/rootcacertpublisher/publisher.go),
// the second by OpenShift's service-ca-operator. The last is the uninstall marker.
var excludedNames = []string{"kube-root-ca.crt", "openshift-service-ca.crt", manifests.UninstallMarker}

// Excluded reports whether ConfigMaps of this name are never copied, changed or
// deleted (docs/design.md#rule-1-source).
func Excluded(name string) bool {
	return slices.Contains(excludedNames, name)
}

// Identity names an object. It replaces Kubernetes' ObjectMeta, which takes 232
// bytes even when it is empty.
type Identity struct {
	Namespace, Name string
	UID             types.UID
}

// GetName returns the object's name.
func (i *Identity) GetName() string { return i.Name }

// GetObjectMeta returns the namespace and the name, which a client-go cache needs.
func (i *Identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name}
}

// Source is the part of a ConfigMap on the hub that the mirror keeps.
type Source struct {
	Identity
	// OptedOut reports whether the ConfigMap has the label that forbids copying it.
	OptedOut bool
	// Revision is the value of manifests.RevisionAnnotation, with the content below. It is empty
	// if the value is longer than a ConfigMapMirror takes.
	Revision   string
	Immutable  bool
	Data       map[string]string
	BinaryData map[string][]byte
	Digest     Digest
}

// NewSource returns the Source of a ConfigMap on the hub. It shares the maps of cm.
func NewSource(cm *corev1.ConfigMap) *Source {
	s := &Source{
		Identity: identity(cm),
		OptedOut: cm.Labels[manifests.SyncLabel] == manifests.SyncDisabled,
	}
	if s.OptedOut || Excluded(s.Name) {
		return s
	}
	if revision := cm.Annotations[manifests.RevisionAnnotation]; len(revision) <= maxRevision {
		s.Revision = revision
	}
	s.Immutable = isTrue(cm.Immutable)
	s.Data, s.BinaryData = cm.Data, cm.BinaryData
	s.Digest = DigestOf(cm.Data, cm.BinaryData)
	return s
}

// Copy is the part of a ConfigMap in the install namespace that the mirror keeps.
// Not every Copy is the mirror's own: see Owned.
type Copy struct {
	Identity
	ResourceVersion string
	// Deleting reports whether the object has a deletionTimestamp.
	Deleting bool
	// Owned reports whether the object carries both marks of this mirror.
	Owned     bool
	Immutable bool
	// Digest is zero for an object that the mirror does not write.
	Digest Digest
	// Meta is the metadata that an update has to keep, or that explains a conflict.
	// It is nil for a copy without metadata of others, which most copies are.
	Meta *metav1.ObjectMeta
}

// NewCopy returns the Copy of a ConfigMap in the install namespace. It shares the
// maps of cm.
func (s Scope) NewCopy(cm *corev1.ConfigMap) *Copy {
	c := &Copy{Identity: identity(cm), ResourceVersion: cm.ResourceVersion,
		Deleting: cm.DeletionTimestamp != nil, Owned: s.owns(cm)}
	adoptable := cm.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue
	switch {
	case cm.Name == manifests.UninstallMarker:
		c.Meta = withoutManagedFields(cm)
	case !Excluded(cm.Name) && (c.Owned || adoptable):
		c.Immutable = isTrue(cm.Immutable)
		c.Digest = DigestOf(cm.Data, cm.BinaryData)
		if !c.Owned || hasMore(cm) {
			c.Meta = withoutManagedFields(cm)
		}
	default:
		c.Meta = marks(cm)
	}
	return c
}

// adoptable reports whether the object's owner has handed it over to the mirror.
func (c *Copy) adoptable() bool {
	return c.Meta != nil && c.Meta.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue
}

func identity(cm *corev1.ConfigMap) Identity {
	return Identity{Namespace: cm.Namespace, Name: cm.Name, UID: cm.UID}
}

// withoutManagedFields returns the metadata that an update sends back.
func withoutManagedFields(cm *corev1.ConfigMap) *metav1.ObjectMeta {
	meta := cm.ObjectMeta
	meta.ManagedFields = nil
	return &meta
}

// hasMore reports whether a copy has more metadata than its two marks.
func hasMore(cm *corev1.ConfigMap) bool {
	return len(cm.Labels) > 1 || len(cm.Annotations) > 1 || len(cm.OwnerReferences) > 0 ||
		len(cm.Finalizers) > 0 || cm.GenerateName != ""
}

// marks returns the marks of another mirror, which explain a conflict, or nil.
func marks(cm *corev1.ConfigMap) *metav1.ObjectMeta {
	meta := &metav1.ObjectMeta{Labels: maps.Clone(cm.Labels), Annotations: maps.Clone(cm.Annotations)}
	maps.DeleteFunc(meta.Labels, func(key, _ string) bool { return key != manifests.ManagedByLabel })
	maps.DeleteFunc(meta.Annotations, func(key, _ string) bool { return key != manifests.SourceAnnotation })
	if len(meta.Labels) == 0 || len(meta.Annotations) == 0 {
		return nil
	}
	return meta
}

func isTrue(b *bool) bool {
	return b != nil && *b
}

// Digest is a hash of the data and binary data of a ConfigMap. The cache keeps
// these 32 bytes instead of a copy's content.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a content. A nil map and an empty map have the
// same digest: the API server does not distinguish them.
func DigestOf(data map[string]string, binaryData map[string][]byte) Digest {
	h := sha256.New()
	writeNumber(h, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		writePart(h, key)
		writePart(h, data[key])
	}
	writeNumber(h, len(binaryData))
	for _, key := range slices.Sorted(maps.Keys(binaryData)) {
		writePart(h, key)
		writePart(h, string(binaryData[key]))
	}
	return Digest(h.Sum(nil))
}

// writePart writes the length first, so that different contents never hash the same
// bytes: for example, {"ab": "c"} and {"a": "bc"}.
func writePart(h hash.Hash, part string) {
	writeNumber(h, len(part))
	h.Write([]byte(part))
}

func writeNumber(h hash.Hash, n int) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}
