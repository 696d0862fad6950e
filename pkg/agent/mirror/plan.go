package mirror

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Kind says what has to be done for one name.
type Kind string

const (
	// Ignore: the name is none of the mirror's business.
	Ignore Kind = "Ignore"
	// InSync: the copy is as it has to be.
	InSync Kind = "InSync"
	// Create: the copy is missing.
	Create Kind = "Create"
	// Update: the copy differs, or was given over to the mirror.
	Update Kind = "Update"
	// Replace: the copy differs and is immutable, so that it has to be deleted
	// and created again.
	Replace Kind = "Replace"
	// Delete: the copy has no source any more.
	Delete Kind = "Delete"
	// Conflict: an object that the mirror does not own has the name.
	Conflict Kind = "Conflict"
	// Wait: the API server is still deleting an object of this name; when it
	// is gone, the name is planned again.
	Wait Kind = "Wait"
)

// Action is what has to be done for one name.
type Action struct {
	Kind Kind
	Name string
	// Object is what to write, for Create, Update and Replace. Update's
	// carries the UID and the resource version it was planned on.
	Object *corev1.ConfigMap
	// UID and ResourceVersion are the preconditions of Delete and Replace.
	UID             types.UID
	ResourceVersion string
	// Reason explains Conflict and Wait to a person.
	Reason string
}

// Writes says whether carrying the action out changes anything.
func (a Action) Writes() bool {
	return a.Kind.Writes()
}

// Writes says whether actions of this kind change anything.
func (k Kind) Writes() bool {
	switch k {
	case Create, Update, Replace, Delete:
		return true
	default:
		return false
	}
}

// Plan plans every name that is on either side, sorted by name. The maps are
// by name. Nothing is planned for namespaces that are one and the same.
func Plan(scope Scope, sources map[string]*Source, copies map[string]*Copy) []Action {
	relation := Relate(scope, sources, copies)
	names := slices.Collect(maps.Keys(sources))
	for name := range copies {
		if _, ok := sources[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	actions := make([]Action, 0, len(names))
	for _, name := range names {
		actions = append(actions, PlanOne(scope, relation, name, sources[name], copies[name]))
	}
	return actions
}

// PlanOne plans one name from the ConfigMap of that name on the hub and in the
// install namespace, each nil where there is none.
func PlanOne(scope Scope, relation Relation, name string, source *Source, target *Copy) Action {
	action := Action{Kind: KindOf(relation, name, source, target), Name: name}
	switch action.Kind {
	case Create:
		action.Object = scope.desired(source, nil)
	case Update:
		action.Object = scope.desired(source, target)
		action.Object.UID, action.Object.ResourceVersion = target.UID, target.ResourceVersion
		if target.Meta != nil {
			action.Object.Finalizers, action.Object.GenerateName = target.Meta.Finalizers, target.Meta.GenerateName
		}
	case Replace:
		action.Object = scope.desired(source, target)
		action.UID, action.ResourceVersion = target.UID, target.ResourceVersion
	case Delete:
		action.UID, action.ResourceVersion = target.UID, target.ResourceVersion
	case Conflict:
		action.Reason = scope.conflictReason(target)
	case Wait:
		action.Reason = "the ConfigMap of this name is being deleted; look at its finalizers if that lasts"
	case Ignore, InSync:
	}
	return action
}

// KindOf is the kind of what PlanOne plans.
func KindOf(relation Relation, name string, source *Source, target *Copy) Kind {
	kind := kindOf(name, source, target)
	if !relation.allows(kind) {
		return Ignore
	}
	return kind
}

func kindOf(name string, source *Source, target *Copy) Kind {
	wanted := source != nil && !source.OptedOut
	switch {
	case Excluded(name), sameObject(source, target):
		return Ignore
	case target == nil && wanted:
		return Create
	case target == nil:
		return Ignore
	case target.Deleting && wanted:
		return Wait
	case target.Deleting:
		// It goes by itself.
		return Ignore
	case wanted:
		return kindOfCopy(source, target)
	case target.Owned:
		return Delete
	default:
		return Ignore
	}
}

// kindOfCopy is for a name that is on both sides and wanted.
func kindOfCopy(source *Source, target *Copy) Kind {
	sameContent := target.Digest == source.Digest
	switch {
	case !target.Owned && !target.adoptable():
		return Conflict
	case target.Owned && sameContent && target.Immutable == source.Immutable:
		return InSync
	case target.Immutable && !(sameContent && source.Immutable):
		return Replace
	default:
		return Update
	}
}

// conflictReason names the object that is in the way, and what its owner can do.
func (s Scope) conflictReason(target *Copy) string {
	what := "not a copy"
	if meta := target.Meta; meta != nil && meta.Labels[manifests.ManagedByLabel] == manifests.ManagedByAgent {
		if by := meta.Annotations[manifests.SourceAnnotation]; by != "" {
			what = "the copy of " + by
		}
	}
	return fmt.Sprintf("%s is %s: delete it there, or give it over to the add-on: kubectl annotate configmap %s -n %s %s=%s",
		s.onCluster(target.Name), what, target.Name, s.InstallNamespace, manifests.AdoptAnnotation, manifests.AdoptTrue)
}

// desired is the copy of source. What others put on the present copy (labels,
// annotations, owners) stays.
func (s Scope) desired(source *Source, present *Copy) *corev1.ConfigMap {
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
	if present != nil && present.Meta != nil {
		maps.Copy(object.Labels, present.Meta.Labels)
		maps.Copy(object.Annotations, present.Meta.Annotations)
		object.OwnerReferences = present.Meta.OwnerReferences
	}
	object.Labels[manifests.ManagedByLabel] = manifests.ManagedByAgent
	object.Annotations[manifests.SourceAnnotation] = s.SourceOf(source.Name)
	if source.Immutable {
		immutable := true
		object.Immutable = &immutable
	}
	return object
}
