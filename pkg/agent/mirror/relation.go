package mirror

// Relation says whether the two namespaces of a scope are one and the same, as
// on a hub that manages itself with its own cluster namespace as the install
// namespace. An agent may not read cluster-wide objects that would tell, so it
// is concluded from the ConfigMaps: a UID belongs to one object only.
type Relation string

const (
	// Distinct namespaces are mirrored.
	Distinct Relation = "Distinct"
	// Same: there is one namespace, and nothing to copy.
	Same Relation = "Same"
	// Undecided: the names are equal, and no ConfigMap has yet been seen on
	// both sides that would tell. A create is safe all the same: it fails if
	// the object is there.
	Undecided Relation = "Undecided"
)

// Relate concludes the relation from all ConfigMaps of both sides, by name.
func Relate(scope Scope, sources map[string]*Source, copies map[string]*Copy) Relation {
	if scope.HubNamespace != scope.InstallNamespace {
		return Distinct
	}
	relation := Undecided
	for name, source := range sources {
		relation = relation.with(source, copies[name])
		if relation == Same {
			break
		}
	}
	return relation
}

// with is the relation after one more name was looked at. Same is final: an
// object on both sides with one UID cannot be anything else. Different UIDs of
// one name are no proof to the contrary while one side lags behind (the object
// may have been deleted and created), except for the names that Kubernetes
// keeps in every namespace; but they are what there is to go by.
func (r Relation) with(source *Source, target *Copy) Relation {
	switch {
	case r == Same || source == nil || target == nil:
		return r
	case sameObject(source, target):
		return Same
	default:
		return Distinct
	}
}

// sameObject compares the namespaces too: a cluster that was restored from
// another one's backup has objects with the other one's UIDs.
func sameObject(source *Source, target *Copy) bool {
	return source != nil && target != nil && source.UID != "" &&
		source.UID == target.UID && source.Namespace == target.Namespace
}

func (r Relation) allows(kind Kind) bool {
	switch r {
	case Same:
		return false
	case Undecided:
		return !kind.Writes() || kind == Create
	default:
		return true
	}
}
