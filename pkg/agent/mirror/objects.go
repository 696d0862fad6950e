package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Source is what a mirror keeps of a ConfigMap on the hub.
type Source struct {
	// ObjectMeta has the name, the namespace, the UID and the resource
	// version, no more.
	metav1.ObjectMeta
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
	// ObjectMeta is whole but for the managed fields where the mirror may have
	// to write the object. Of others it has what identifies the object, and
	// the marks.
	metav1.ObjectMeta
	Immutable bool
	// Digest is zero for an object that the mirror will not write.
	Digest Digest
}

// NewSource keeps what planning needs of a ConfigMap on the hub. The result
// shares the maps with cm.
func NewSource(cm *corev1.ConfigMap) *Source {
	s := &Source{
		ObjectMeta: identity(cm),
		OptedOut:   cm.Labels[manifests.SyncLabel] == manifests.SyncDisabled,
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
	whole := &Copy{ObjectMeta: cm.ObjectMeta, Immutable: isTrue(cm.Immutable)}
	whole.ManagedFields = nil
	if !Excluded(cm.Name) && (s.Owns(whole) || whole.adoptable()) {
		whole.Digest = DigestOf(cm.Data, cm.BinaryData)
		return whole
	}
	foreign := &Copy{ObjectMeta: identity(cm)}
	foreign.DeletionTimestamp = cm.DeletionTimestamp
	foreign.Labels = only(cm.Labels, manifests.ManagedByLabel)
	foreign.Annotations = only(cm.Annotations, manifests.SourceAnnotation)
	return foreign
}

func (c *Copy) adoptable() bool {
	return c.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue
}

func identity(cm *corev1.ConfigMap) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID, ResourceVersion: cm.ResourceVersion,
	}
}

func only(m map[string]string, key string) map[string]string {
	if value, ok := m[key]; ok {
		return map[string]string{key: value}
	}
	return nil
}

func isTrue(b *bool) bool {
	return b != nil && *b
}
