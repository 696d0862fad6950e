package mirror

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// FuzzPlan reads two states from bytes, two for each name, plans, applies the
// plan as an API server would, and plans again.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	// An excluded name on the hub only, on both sides, and marked as a copy.
	f.Add([]byte{0, 0, 0, 0, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 1, 0x15, 0, 0, 0, 0x83})
	f.Add([]byte{1, 0, 0, 1, 1, 1, 2, 5})
	f.Add([]byte{0x81, 0x07, 0x13, 0x2f, 0xff, 0xff, 0x01, 0x41})
	f.Add([]byte{0x09, 0x1d, 0x05, 0x19, 0x03, 0x15, 0x01, 0x95, 0x01, 0x0d})
	// Every kind of plan, with and without binary data and immutability, beside
	// excluded names on both sides.
	f.Add([]byte{0x01, 0x00, 0x11, 0x83, 0x01, 0x83, 0x19, 0x8b, 0x01, 0x87, 0x03, 0x83})
	f.Add([]byte{0x00, 0x83, 0x29, 0xa3, 0x01, 0x04, 0x01, 0x05, 0x01, 0x85, 0x09, 0x0d})
	f.Add([]byte{0x01, 0x43, 0x00, 0xc3, 0x01, 0xc7, 0x01, 0xcf, 0x03, 0xff, 0xff, 0x8f})
	// The uninstall marker on both sides, and changes of copies that others have
	// labelled: an update, an adoption and a replacement.
	f.Add([]byte{0x11, 0xa3, 0x11, 0x25, 0, 0, 0x19, 0xab, 0, 0, 0, 0, 0x01, 0x87})
	f.Fuzz(func(t *testing.T, state []byte) {
		hub, managed := statesFrom(state)
		before := clone(managed)
		actions := planAll(hub, managed)
		for _, action := range actions {
			apply(t, managed, action)
		}
		for name, cm := range before {
			if !mayWrite(cm) && cmp.Diff(cm, managed[name]) != "" {
				t.Errorf("wrote what is not ours: %s", cmp.Diff(cm, managed[name]))
			}
		}
		for _, action := range planAll(hub, managed) {
			if action.Writes() {
				t.Errorf("planned again: %s %s", action.Kind, action.Name)
			}
		}
		for name, cm := range hub {
			checkCopy(t, cm, before[name], managed[name])
			if !keepsLabel(before[name], managed[name]) {
				t.Errorf("somebody's label on %s is gone", name)
			}
		}
	})
}

// othersLabel is on some objects of the managed cluster, copies or not.
const othersLabel = "example.com/team"

// fuzzNames has excluded names among the others.
var fuzzNames = []string{"a", "b", "kube-root-ca.crt", "c", "openshift-service-ca.crt", "d", manifests.UninstallMarker}

// statesFrom builds the two sides. Of each two bytes the first is the object
// on the hub, the second the one on the managed cluster, by their bits.
func statesFrom(state []byte) (hub, managed map[string]*corev1.ConfigMap) {
	hub, managed = map[string]*corev1.ConfigMap{}, map[string]*corev1.ConfigMap{}
	for i := 0; i+1 < len(state) && i/2 < len(fuzzNames); i += 2 {
		name, h, m := fuzzNames[i/2], state[i], state[i+1]
		if h&1 != 0 {
			hub[name] = fuzzObject(name, "hub", h)
			if h&2 != 0 {
				optOut(hub[name])
			}
		}
		if m&1 != 0 {
			cm := fuzzObject(name, "managed", m)
			if len(cm.BinaryData) > 0 {
				label(othersLabel, "theirs")(cm)
			}
			for bit, change := range map[byte]func(*corev1.ConfigMap){
				2: label(manifests.ManagedByLabel, manifests.ManagedByAgent), 4: adopt,
				64: terminating, 128: annotation(manifests.SourceAnnotation, scope.SourceOf(name)),
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

func fuzzObject(name, side string, bits byte) *corev1.ConfigMap {
	cm := configMap(name, map[string]string{"k": fmt.Sprint(bits >> 4 & 1)})
	cm.UID, cm.ResourceVersion = types.UID(side+name), "1"
	if bits&8 != 0 {
		immutable(cm)
	}
	if bits&32 != 0 {
		cm.BinaryData = map[string][]byte{"b": {bits}}
	}
	return cm
}

func planAll(hub, managed map[string]*corev1.ConfigMap) []Action {
	sources, copies := map[string]*Source{}, map[string]*Copy{}
	for name, cm := range hub {
		sources[name] = NewSource(cm)
	}
	for name, cm := range managed {
		copies[name] = scope.NewCopy(cm)
	}
	return Plan(scope, sources, copies)
}

func clone(state map[string]*corev1.ConfigMap) map[string]*corev1.ConfigMap {
	copied := map[string]*corev1.ConfigMap{}
	for name, cm := range state {
		copied[name] = cm.DeepCopy()
	}
	return copied
}

// keepsLabel says whether somebody's label is still there if the object is.
func keepsLabel(before, after *corev1.ConfigMap) bool {
	return before == nil || after == nil || before.Labels[othersLabel] == after.Labels[othersLabel]
}

func mayWrite(cm *corev1.ConfigMap) bool {
	marked := cm.Labels[manifests.ManagedByLabel] == manifests.ManagedByAgent &&
		cm.Annotations[manifests.SourceAnnotation] == "cluster1/"+cm.Name
	return !Excluded(cm.Name) && cm.DeletionTimestamp == nil &&
		(marked || cm.Annotations[manifests.AdoptAnnotation] == manifests.AdoptTrue)
}

// apply does what an API server does with the action, and refuses what it
// refuses.
func apply(t *testing.T, managed map[string]*corev1.ConfigMap, action Action) {
	t.Helper()
	if action.Writes() && Excluded(action.Name) {
		t.Fatalf("%s of the excluded name %s", action.Kind, action.Name)
	}
	present := managed[action.Name]
	switch action.Kind {
	case Create:
		if present != nil {
			t.Fatalf("create of %s, which is there", action.Name)
		}
		managed[action.Name] = stored(action.Object)
	case Update:
		if present == nil || present.UID != action.Object.UID || present.ResourceVersion != action.Object.ResourceVersion {
			t.Fatalf("update of %s names another object", action.Name)
		}
		if isTrue(present.Immutable) && (!isTrue(action.Object.Immutable) ||
			DigestOf(present.Data, present.BinaryData) != DigestOf(action.Object.Data, action.Object.BinaryData)) {
			t.Fatalf("update of the immutable %s", action.Name)
		}
		managed[action.Name] = stored(action.Object)
	case Delete, Replace:
		if present == nil || present.UID != action.UID || present.ResourceVersion != action.ResourceVersion {
			t.Fatalf("delete of %s names another object", action.Name)
		}
		delete(managed, action.Name)
		if action.Kind == Replace {
			managed[action.Name] = stored(action.Object)
		}
	}
}

func stored(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm = cm.DeepCopy()
	cm.UID, cm.ResourceVersion = types.UID("new"+cm.Name), "2"
	return cm
}

// checkCopy says whether what is on the managed cluster in the end is right
// for a ConfigMap on the hub.
func checkCopy(t *testing.T, source, before, after *corev1.ConfigMap) {
	t.Helper()
	switch {
	case Excluded(source.Name) || before != nil && !mayWrite(before):
		// Left alone, which the caller checks.
	case source.Labels[manifests.SyncLabel] == manifests.SyncDisabled:
		if after != nil && scope.NewCopy(after).Owned {
			t.Errorf("copy of %s, which opted out, is still there", source.Name)
		}
	case after == nil:
		t.Errorf("no copy of %s", source.Name)
	case !scope.NewCopy(after).Owned:
		t.Errorf("copy of %s is not marked as one", source.Name)
	case DigestOf(source.Data, source.BinaryData) != DigestOf(after.Data, after.BinaryData) ||
		isTrue(source.Immutable) != isTrue(after.Immutable):
		t.Errorf("copy of %s differs", source.Name)
	}
}
