package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// Facts are what NewUndo decides on.
type Facts struct {
	Set *v1alpha1.ConfigMapReplicaSet
	// Sources are the ConfigMaps that the set or the revision names.
	Sources Sources
	// Others are all sets of the namespace.
	Others []v1alpha1.ConfigMapReplicaSet
	// ForceConflicts lets it write what another program applies.
	ForceConflicts bool
}

// Undo is the one write by which a set goes back to a revision: that of a source, or that of the spec.
type Undo struct {
	To Revision
	// Source or Spec is what to write. Both are nil if the set has the revision already.
	Source *SourceWrite
	Spec   *SpecWrite
	// Notes are what the user should know.
	Notes []string
}

// Nothing reports whether the set has the revision already.
func (u Undo) Nothing() bool { return u.Source == nil && u.Spec == nil }

// SourceWrite gives a source its former content. Its other fields stay.
type SourceWrite struct {
	Namespace string
	// Present is the source as it is, or nil: it is created.
	Present *corev1.ConfigMap
	Former  render.Content
}

// SpecWrite gives the set its former sources and values. A list that does not change is nil.
type SpecWrite struct {
	ConfigMaps []v1alpha1.ConfigMapReference
	Values     []v1alpha1.Value
	// NoValues is set if the revision has no values, and the set has.
	NoValues bool
}

// Target returns the revision to go back to: that of the number or hash, or without one the last that reached
// every cluster, or if the sources make that one now, the one before.
func Target(set *v1alpha1.ConfigMapReplicaSet, history []Revision, present Present, which string) (Revision, error) {
	if which != "" && which != "0" {
		return Find(set.Name, history, which)
	}
	if current := set.Status.CurrentRevision; current != present.Revision {
		if i := slices.IndexFunc(history, func(r Revision) bool { return r.Hash == current }); i >= 0 {
			return history[i], nil
		}
	}
	for _, revision := range slices.Backward(history) {
		if revision.Hash != present.Revision {
			return revision, nil
		}
	}
	return Revision{}, fmt.Errorf("no former revision of %s is kept", Named(set.Name))
}

// Names returns the names of the ConfigMaps that an Undo may read.
func Names(set *v1alpha1.ConfigMapReplicaSet, to Revision) []string {
	var names []string
	for _, ref := range set.Spec.ConfigMaps {
		names = append(names, ref.Name)
	}
	for _, source := range to.Content.Sources {
		names = append(names, source.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// NewUndo returns how the set goes back to a revision. The error names everything that prevents it.
func NewUndo(facts Facts, to Revision) (Undo, error) {
	undo, set := Undo{To: to}, facts.Set
	if to.Problem != "" {
		return undo, fmt.Errorf("revision %s cannot be restored: %s", to, to.Problem)
	}
	var differ []string
	var problems []error
	if set.DeletionTimestamp != nil {
		problems = append(problems, fmt.Errorf("%s is being deleted", Named(set.Name)))
	}
	for _, former := range to.Content.Sources {
		write := SourceWrite{Namespace: set.Namespace, Present: facts.Sources[former.Name], Former: former}
		if write.Done() {
			continue
		}
		differ = append(differ, "ConfigMap "+former.Name)
		problems = append(problems, write.problem(), facts.conflict("ConfigMap "+former.Name, write.managedFields(), "f:data", "f:binaryData", "f:immutable"))
		undo.Notes = append(undo.Notes, facts.notes(write)...)
		undo.Source = &write
	}
	if undo.Spec = newSpecWrite(set, to.Content); undo.Spec != nil {
		differ = append(differ, "the spec of "+Named(set.Name))
		problems = append(problems, facts.conflict(Named(set.Name), set.ManagedFields, undo.Spec.fields()...))
	}
	problems = append(problems, several(set, to, differ))
	for _, ref := range set.Spec.ConfigMaps {
		if byName(to.Content.Sources)[ref.Name] == nil {
			undo.Notes = append(undo.Notes, fmt.Sprintf("ConfigMap %s is not in revision %s: it stays in %s, and is removed from the clusters", ref.Name, to, set.Namespace))
		}
	}
	if set.Spec.Paused && len(differ) > 0 {
		undo.Notes = append(undo.Notes, fmt.Sprintf("%s is paused: no cluster gets the revision before it is resumed", Named(set.Name)))
	}
	return undo, errors.Join(problems...)
}

// several returns an error if more than one object differs from the revision. No API writes several objects at once, and
// between two writes the sources make another revision, which the controller stores and may roll out.
func several(set *v1alpha1.ConfigMapReplicaSet, to Revision, differ []string) error {
	if len(differ) < 2 {
		return nil
	}
	return fmt.Errorf("%d objects differ from it: %s. undo writes one object, because clusters could get what is between two writes. "+
		"Write their former content in one kubectl apply; this shows it:\n"+
		"  kubectl helloworld rollout history -n %s %s --revision=%s", len(differ), strings.Join(differ, ", "), set.Namespace, set.Name, to.Hash)
}

// conflict returns an error if another program applies a field of an object, and so would write it again.
func (f Facts) conflict(name string, entries []metav1.ManagedFieldsEntry, fields ...string) error {
	if f.ForceConflicts {
		return nil
	}
	if applier := managerOf(entries, metav1.ManagedFieldsOperationApply, fields...); applier != "" {
		return fmt.Errorf("%s is applied by %s, which would write its content again: go back there, or add --force-conflicts", name, applier)
	}
	return nil
}

// notes returns what the write of a source has as a consequence beyond the set.
func (f Facts) notes(write SourceWrite) (notes []string) {
	if writer := managerOf(write.managedFields(), metav1.ManagedFieldsOperationUpdate, "f:data", "f:binaryData"); writer != "" {
		notes = append(notes, fmt.Sprintf("ConfigMap %s was written by %s: if that writes it again, the rollback ends", write.Former.Name, writer))
	}
	for _, other := range f.Others {
		if other.UID != f.Set.UID && slices.ContainsFunc(other.Spec.ConfigMaps, func(ref v1alpha1.ConfigMapReference) bool { return ref.Name == write.Former.Name }) {
			notes = append(notes, fmt.Sprintf("ConfigMap %s is a source of %s, too", write.Former.Name, Named(other.Name)))
		}
	}
	return notes
}

func (w SourceWrite) managedFields() []metav1.ManagedFieldsEntry {
	if w.Present == nil {
		return nil
	}
	return w.Present.ManagedFields
}

// Done reports whether the source has its former content.
func (w SourceWrite) Done() bool {
	return w.Present != nil && render.ContentOf(w.Present).Sum() == w.Former.Sum()
}

// problem returns why the API server would not carry the write out.
func (w SourceWrite) problem() error {
	switch {
	case w.Present == nil:
		return nil
	case w.Present.DeletionTimestamp != nil:
		return fmt.Errorf("ConfigMap %s is being deleted: wait until it is gone, or take its finalizers off", w.Former.Name)
	case w.Present.Immutable != nil && *w.Present.Immutable:
		return fmt.Errorf("ConfigMap %s is immutable: delete it, and the next undo creates it with its former content", w.Former.Name)
	}
	return nil
}

// Object returns the ConfigMap to create or update. An update has the resourceVersion of Present as its precondition.
func (w SourceWrite) Object() *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Former.Name}}
	if w.Present != nil {
		object = w.Present.DeepCopy()
	}
	object.Data, object.BinaryData = w.Former.Data, w.Former.BinaryData
	if w.Former.Immutable {
		immutable := true
		object.Immutable = &immutable
	}
	return object
}

// Again returns the write after a conflict: now is the source as it is now, or nil. Another writer's change of the content
// is not overwritten, because the user has not seen it.
func (w SourceWrite) Again(now *corev1.ConfigMap) (SourceWrite, error) {
	again := w
	again.Present = now
	if again.Done() {
		return again, nil
	}
	if (now == nil) != (w.Present == nil) || now != nil && render.ContentOf(now).Sum() != render.ContentOf(w.Present).Sum() {
		return again, fmt.Errorf("ConfigMap %s was changed by another writer meanwhile: look at it, and undo again", w.Former.Name)
	}
	return again, again.problem()
}

// newSpecWrite returns what the spec of a set lacks of a revision, or nil. The order of sources and values has no meaning.
func newSpecWrite(set *v1alpha1.ConfigMapReplicaSet, to render.Revision) *SpecWrite {
	var write SpecWrite
	var names []v1alpha1.ConfigMapReference
	for _, source := range to.Sources {
		names = append(names, v1alpha1.ConfigMapReference{Name: source.Name})
	}
	present := slices.SortedFunc(slices.Values(set.Spec.ConfigMaps), func(a, b v1alpha1.ConfigMapReference) int { return cmp.Compare(a.Name, b.Name) })
	if !slices.Equal(names, present) {
		write.ConfigMaps = names
	}
	if values := render.NewRevision(nil, set.Spec.Values).Values; !equality.Semantic.DeepEqual(values, to.Values) {
		write.Values, write.NoValues = to.Values, len(to.Values) == 0
	}
	if write.ConfigMaps == nil && write.Values == nil && !write.NoValues {
		return nil
	}
	return &write
}

// Again returns an error if the set has changed in what the write replaces: the user has not seen that.
func (w SpecWrite) Again(before, now *v1alpha1.ConfigMapReplicaSet) error {
	a, b := before.Spec, now.Spec
	if before.UID != now.UID || !slices.Equal(a.ConfigMaps, b.ConfigMaps) || !equality.Semantic.DeepEqual(a.Values, b.Values) {
		return fmt.Errorf("%s was changed by another writer meanwhile: look at it, and undo again", Named(now.Name))
	}
	return nil
}

// fields returns the fields that it writes, as managedFields name them.
func (w SpecWrite) fields() (fields []string) {
	for field := range w.Patch() {
		fields = append(fields, "f:"+field)
	}
	return fields
}

// Patch returns the write as a part of a merge patch of the spec.
func (w SpecWrite) Patch() map[string]any {
	spec := map[string]any{}
	if w.ConfigMaps != nil {
		spec["configMaps"] = w.ConfigMaps
	}
	if w.Values != nil {
		spec["values"] = w.Values
	}
	if w.NoValues {
		spec["values"] = nil
	}
	return spec
}
