package mirror

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Identity says which object something is kept of. It stands for Kubernetes'
// ObjectMeta, which takes 232 bytes where it is empty.
type Identity struct {
	Namespace, Name string
	UID             types.UID
}

// GetName returns the name.
func (i *Identity) GetName() string { return i.Name }

// GetObjectMeta is for a cache, which needs the namespace and the name.
func (i *Identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name}
}

// Source is what a mirror keeps of a ConfigMap on the hub.
type Source struct {
	Identity
	// OptedOut says that the ConfigMap must not be copied.
	OptedOut   bool
	Immutable  bool
	Data       map[string]string
	BinaryData map[string][]byte
	Digest     Digest
}

// Copy is what a mirror keeps of a ConfigMap in the install namespace, its own
// or another's.
type Copy struct {
	Identity
	ResourceVersion string
	// Deleting says that the object has a deletionTimestamp.
	Deleting bool
	// Owned says that it is this mirror's: it carries both marks.
	Owned     bool
	Immutable bool
	// Digest is zero for an object that the mirror will not write.
	Digest Digest
	// Meta has what else there is in the metadata that a write has to keep, or
	// that tells whose the object is. It is nil for a copy that nobody added
	// anything to, which most are.
	Meta *metav1.ObjectMeta
}

// NewSource keeps what planning needs of a ConfigMap on the hub. The result
// shares the maps with cm.
func NewSource(cm *corev1.ConfigMap) *Source {
	s := &Source{
		Identity: identity(cm),
		OptedOut: cm.Labels[manifests.SyncLabel] == manifests.SyncDisabled,
	}
	if s.OptedOut || Excluded(s.Name) {
		return s
	}
	s.Immutable = isTrue(cm.Immutable)
	s.Data, s.BinaryData = cm.Data, cm.BinaryData
	s.Digest = DigestOf(cm.Data, cm.BinaryData)
	return s
}

// NewCopy keeps what planning needs of a ConfigMap in the install namespace.
// The result shares the maps with cm.
func (s Scope) NewCopy(cm *corev1.ConfigMap) *Copy {
	c := &Copy{Identity: identity(cm), ResourceVersion: cm.ResourceVersion,
		Deleting: cm.DeletionTimestamp != nil, Owned: s.owns(cm)}
	adoptable := cm.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue
	switch {
	case cm.Name == manifests.UninstallMarker:
		c.Meta = whole(cm)
	case !Excluded(cm.Name) && (c.Owned || adoptable):
		c.Immutable = isTrue(cm.Immutable)
		c.Digest = DigestOf(cm.Data, cm.BinaryData)
		if !c.Owned || hasMore(cm) {
			c.Meta = whole(cm)
		}
	default:
		c.Meta = marks(cm)
	}
	return c
}

// adoptable says whether its owner has given the object over.
func (c *Copy) adoptable() bool {
	return c.Meta != nil && c.Meta.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue
}

func identity(cm *corev1.ConfigMap) Identity {
	return Identity{Namespace: cm.Namespace, Name: cm.Name, UID: cm.UID}
}

// whole is all metadata that a write sends back.
func whole(cm *corev1.ConfigMap) *metav1.ObjectMeta {
	meta := cm.ObjectMeta
	meta.ManagedFields = nil
	return &meta
}

// hasMore says whether the metadata of a copy has more than its marks.
func hasMore(cm *corev1.ConfigMap) bool {
	return len(cm.Labels) > 1 || len(cm.Annotations) > 1 || len(cm.OwnerReferences) > 0 ||
		len(cm.Finalizers) > 0 || cm.GenerateName != ""
}

// marks is what a conflict is explained by, nil where there is nothing.
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
