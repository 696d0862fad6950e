// Package configmaps makes ConfigMaps for tests of the mirror: sources in namespace
// cluster1 of the hub and copies in namespace copies of the managed cluster. It
// shares no code with the mirror, so that Check does not repeat its mistakes.
package configmaps

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The namespaces of the two sides.
const (
	HubNamespace     = "cluster1"
	InstallNamespace = "copies"
)

// Change changes a ConfigMap that New makes.
type Change = func(*corev1.ConfigMap)

// New returns a ConfigMap.
func New(name string, data map[string]string, changes ...Change) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	for _, change := range changes {
		change(cm)
	}
	return cm
}

// Label sets a label.
func Label(key, value string) Change {
	return func(cm *corev1.ConfigMap) { metav1.SetMetaDataLabel(&cm.ObjectMeta, key, value) }
}

// Annotation sets an annotation.
func Annotation(key, value string) Change {
	return func(cm *corev1.ConfigMap) { metav1.SetMetaDataAnnotation(&cm.ObjectMeta, key, value) }
}

const (
	managedBy = "app.kubernetes.io/managed-by"
	source    = "helloworld.open-cluster-management.io/source"
	adopt     = "helloworld.open-cluster-management.io/adopt"
	syncLabel = "helloworld.open-cluster-management.io/sync"
)

// Owned marks a ConfigMap as the mirror's copy.
func Owned(cm *corev1.ConfigMap) {
	Label(managedBy, "helloworld-agent")(cm)
	Annotation(source, HubNamespace+"/"+cm.Name)(cm)
}

// Adoptable hands a ConfigMap over to the mirror.
func Adoptable(cm *corev1.ConfigMap) { Annotation(adopt, "true")(cm) }

// OptOut forbids copying a source.
func OptOut(cm *corev1.ConfigMap) { Label(syncLabel, "disabled")(cm) }

// Immutable makes a ConfigMap immutable.
func Immutable(cm *corev1.ConfigMap) { cm.Immutable = new(bool); *cm.Immutable = true }

// Terminating makes a ConfigMap one that is being deleted and has a finalizer.
func Terminating(cm *corev1.ConfigMap) {
	now := metav1.Now()
	cm.DeletionTimestamp, cm.Finalizers = &now, []string{"example.com/hold"}
}

// othersLabel is on some objects of the managed cluster, copies or not.
const othersLabel = "example.com/team"

// excluded are the names that the mirror must not touch.
var excluded = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "helloworld-agent-uninstall"}

// Names are the names of FromBytes: excluded ones among others.
var Names = []string{"a", "b", excluded[0], "c", excluded[1], "d", excluded[2]}

// FromBytes makes the ConfigMaps of both sides, by name. Of each two bytes, the bits
// of the first are those of the object on the hub, the bits of the second those of
// the object on the managed cluster.
func FromBytes(state []byte) (hub, managed map[string]*corev1.ConfigMap) {
	hub, managed = map[string]*corev1.ConfigMap{}, map[string]*corev1.ConfigMap{}
	for i := 0; i+1 < len(state) && i/2 < len(Names); i += 2 {
		name, h, m := Names[i/2], state[i], state[i+1]
		if h&1 != 0 {
			hub[name] = fromBits(name, "hub", h)
			if h&2 != 0 {
				OptOut(hub[name])
			}
		}
		if m&1 != 0 {
			cm := fromBits(name, "managed", m)
			if len(cm.BinaryData) > 0 {
				Label(othersLabel, "theirs")(cm)
			}
			for bit, change := range map[byte]Change{
				2: Label(managedBy, "helloworld-agent"), 4: Adoptable,
				64: Terminating, 128: Annotation(source, HubNamespace+"/"+name),
			} {
				if m&bit != 0 {
					change(cm)
				}
			}
			managed[name] = cm
		}
	}
	return hub, managed
}

func fromBits(name, side string, bits byte) *corev1.ConfigMap {
	cm := New(name, map[string]string{"k": fmt.Sprint(bits >> 4 & 1)})
	cm.UID, cm.ResourceVersion = types.UID(side+name), "1"
	if bits&8 != 0 {
		Immutable(cm)
	}
	if bits&32 != 0 {
		cm.BinaryData = map[string][]byte{"b": {bits}}
	}
	return cm
}

// Clone returns a deep copy.
func Clone(state map[string]*corev1.ConfigMap) map[string]*corev1.ConfigMap {
	copied := map[string]*corev1.ConfigMap{}
	for name, cm := range state {
		copied[name] = cm.DeepCopy()
	}
	return copied
}

// Excluded reports whether the mirror must not touch objects of this name.
func Excluded(name string) bool { return slices.Contains(excluded, name) }

// IsOwned reports whether a ConfigMap carries both marks of the mirror.
func IsOwned(cm *corev1.ConfigMap) bool {
	return cm.Labels[managedBy] == "helloworld-agent" && cm.Annotations[source] == HubNamespace+"/"+cm.Name
}

// MayWrite reports whether the mirror may write a ConfigMap of the managed cluster.
func MayWrite(cm *corev1.ConfigMap) bool {
	return !Excluded(cm.Name) && cm.DeletionTimestamp == nil && (IsOwned(cm) || cm.Annotations[adopt] == "true")
}

// SameContent reports whether an API server would see no difference between the
// contents of two ConfigMaps.
func SameContent(a, b *corev1.ConfigMap) bool {
	return equality.Semantic.DeepEqual(a.Data, b.Data) && equality.Semantic.DeepEqual(a.BinaryData, b.BinaryData)
}

// IsImmutable reports whether a ConfigMap is immutable.
func IsImmutable(cm *corev1.ConfigMap) bool { return cm.Immutable != nil && *cm.Immutable }

// Check fails the test unless the object after the mirror's work is right for a
// source on the hub. Before and after are nil for no object.
func Check(t *testing.T, source, before, after *corev1.ConfigMap) {
	t.Helper()
	switch {
	case Excluded(source.Name) || before != nil && !MayWrite(before):
		// Left alone, which the caller checks.
	case source.Labels[syncLabel] == "disabled":
		if after != nil && IsOwned(after) {
			t.Errorf("the copy of %s, which opted out, is still there", source.Name)
		}
	case after == nil:
		t.Errorf("there is no copy of %s", source.Name)
	case !IsOwned(after):
		t.Errorf("the copy of %s is not marked as one", source.Name)
	case !SameContent(source, after) || IsImmutable(source) != IsImmutable(after):
		t.Errorf("the copy of %s differs", source.Name)
	}
}

// CheckLabel fails the test if a label of others was removed from an object that is
// still there.
func CheckLabel(t *testing.T, before, after *corev1.ConfigMap) {
	t.Helper()
	if before != nil && after != nil && before.Labels[othersLabel] != after.Labels[othersLabel] {
		t.Errorf("a label of others on %s is gone", before.Name)
	}
}
