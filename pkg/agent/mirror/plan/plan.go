// Package plan decides what the mirror does with one name. It is pure: it turns
// values into values, and has no client, context, logger or clock.
//
// [Decide] holds the rules of docs/design.md. It compares the ConfigMap of a name
// on the hub (the source) with the one in the install namespace (the copy):
//
//	copy                     | no source, or one that opted out | source
//	-------------------------|----------------------------------|---------
//	none                     | Ignore                           | Create
//	owned, as the source     | Delete                           | InSync
//	owned, differs           | Delete                           | Update
//	owned, differs immutably | Delete                           | Replace
//	not owned                | Ignore                           | Conflict
//	not owned, adoptable     | Ignore                           | Update or Replace
//	being deleted            | Ignore                           | Wait
//	of an excluded name      | Ignore                           | Ignore
//
// The last two rows win over the others, and the last one over every row.
// "Differs immutably" means that the API server would reject an update, because
// the copy is immutable and its content or that flag has to change.
//
// [Scope.Plan] adds the object to write. [Book] then decides whether the action is
// carried out now or later: it remembers, for each name that is not at rest, how
// earlier actions ended ([Record]).
//
// To add a rule, describe it in docs/design.md, and add it to the table above, to
// Decide, and to TestDecide (see the example of Decide). A rule about another field of
// a ConfigMap needs that field in [Source] or [Copy]. FuzzPlan then checks that the
// rules still converge and change no object that the mirror does not own. Its oracle
// is Check in internal/testing/configmaps, which has to know the rule as well. The
// steps are in CONTRIBUTING.md#add-a-rule-to-the-mirror.
package plan

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Kind is what has to be done for one name.
type Kind string

const (
	// Ignore: the mirror has nothing to do with the name.
	Ignore Kind = "Ignore"
	// InSync: the copy equals its source.
	InSync Kind = "InSync"
	// Create: the copy is missing.
	Create Kind = "Create"
	// Update: the copy differs from its source, or was handed over to the mirror.
	Update Kind = "Update"
	// Replace: the copy differs and is immutable, so it is deleted and created again.
	Replace Kind = "Replace"
	// Delete: the copy has no source any more.
	Delete Kind = "Delete"
	// Conflict: an object that the mirror does not own has the name of a source.
	Conflict Kind = "Conflict"
	// Wait: the API server is still deleting an object of this name. When it is
	// gone, the name is planned again.
	Wait Kind = "Wait"
)

// Writes reports whether an action of this kind changes the managed cluster.
func (k Kind) Writes() bool {
	switch k {
	case Create, Update, Replace, Delete:
		return true
	default:
		return false
	}
}

// Action is what has to be done for one name.
type Action struct {
	Kind Kind
	Name string
	// Object is the object to write, for Create, Update and Replace. For Update it
	// carries the UID and the resource version of the copy that was planned on.
	Object *corev1.ConfigMap
	// UID and ResourceVersion are the preconditions of Delete and Replace.
	UID             types.UID
	ResourceVersion string
	// Reason explains Conflict and Wait to a user.
	Reason string
}

// Decide returns the kind of action for one name. Source and target are the
// ConfigMaps of that name on the hub and in the install namespace, nil for none.
func Decide(name string, source *Source, target *Copy) Kind {
	wanted := source != nil && !source.OptedOut
	switch {
	case Excluded(name): // docs/design.md#rule-1-source
		return Ignore
	case target == nil && wanted: // docs/design.md#rule-2-copy
		return Create
	case target == nil:
		return Ignore
	case target.Deleting && wanted: // docs/design.md#rule-4-drift
		return Wait
	case target.Deleting:
		return Ignore
	case wanted:
		return decideCopy(source, target)
	case target.Owned: // docs/design.md#rule-5-prune
		return Delete
	default: // docs/design.md#rule-3-ownership
		return Ignore
	}
}

// decideCopy is Decide for a wanted name with a copy that is not being deleted.
func decideCopy(source *Source, target *Copy) Kind {
	sameContent := target.Digest == source.Digest
	switch {
	case !target.Owned && !target.adoptable(): // docs/design.md#rule-3-ownership
		return Conflict
	case target.Owned && sameContent && target.Immutable == source.Immutable: // docs/design.md#rule-7-silence
		return InSync
	case target.Immutable && !(sameContent && source.Immutable): // docs/design.md#rule-2-copy
		return Replace
	default:
		return Update
	}
}

// Plan returns the action for one name, with the object to write.
func (s Scope) Plan(name string, source *Source, target *Copy) Action {
	action := Action{Kind: Decide(name, source, target), Name: name}
	switch action.Kind {
	case Create:
		action.Object = s.desired(source, nil)
	case Update:
		action.Object = s.desired(source, target.Meta)
		action.Object.UID, action.Object.ResourceVersion = target.UID, target.ResourceVersion
		if target.Meta != nil {
			action.Object.Finalizers, action.Object.GenerateName = target.Meta.Finalizers, target.Meta.GenerateName
		}
	case Replace:
		action.Object = s.desired(source, target.Meta)
		action.UID, action.ResourceVersion = target.UID, target.ResourceVersion
	case Delete:
		action.UID, action.ResourceVersion = target.UID, target.ResourceVersion
	case Conflict:
		action.Reason = s.conflictReason(target)
	case Wait:
		action.Reason = "the ConfigMap of this name is being deleted; if that lasts, check its finalizers"
	case Ignore, InSync:
	}
	return action
}

// desired returns the copy of source. It keeps the labels, annotations and owners
// that others set on the present copy, whose metadata may be nil.
func (s Scope) desired(source *Source, present *metav1.ObjectMeta) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:        source.Name,
			Namespace:   s.InstallNamespace,
			Labels:      map[string]string{},
			Annotations: map[string]string{},
		},
		Data:       source.Data,
		BinaryData: source.BinaryData,
	}
	if present != nil {
		maps.Copy(object.Labels, present.Labels)
		maps.Copy(object.Annotations, present.Annotations)
		object.OwnerReferences = present.OwnerReferences
	}
	object.Labels[manifests.ManagedByLabel] = manifests.ManagedByAgent
	object.Annotations[manifests.SourceAnnotation] = s.SourceOf(source.Name)
	if source.Immutable {
		immutable := true
		object.Immutable = &immutable
	}
	return object
}

// conflictReason names the object that has the copy's name, and what its owner can do.
func (s Scope) conflictReason(target *Copy) string {
	is := "not a copy"
	if meta := target.Meta; meta != nil && meta.Labels[manifests.ManagedByLabel] == manifests.ManagedByAgent {
		if source := meta.Annotations[manifests.SourceAnnotation]; source != "" {
			is = "the copy of " + source
		}
	}
	return fmt.Sprintf("%s is %s: delete it there, or hand it over to the add-on: kubectl annotate configmap %s -n %s %s=%s",
		s.onCluster(target.Name), is, target.Name, s.InstallNamespace, manifests.AdoptAnnotation, manifests.AdoptTrue)
}

// Answer returns the update of the uninstall marker by which the mirror confirms
// that it has stopped (docs/design.md#uninstall). It returns nil where there is no
// marker, and where the marker has the answer already.
func Answer(marker *Copy) *Action {
	if marker == nil || marker.Deleting || marker.Meta == nil {
		return nil
	}
	uid, ok := marker.Meta.Labels[manifests.UninstallLabel]
	if !ok || marker.Meta.Annotations[manifests.StoppedAnnotation] == uid {
		return nil
	}
	object := &corev1.ConfigMap{ObjectMeta: *marker.Meta.DeepCopy()}
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, manifests.StoppedAnnotation, uid)
	return &Action{Kind: Update, Name: marker.Name, Object: object}
}
