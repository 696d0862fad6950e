package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// Revision is a revision that the hub keeps.
type Revision struct {
	// Number orders the revisions: that of the one that is rolled out is the highest.
	Number int64
	// Hash names the revision.
	Hash    string
	Created time.Time
	// State is what the revision is to the set now, or empty.
	State   string
	Content render.Revision
	// Problem is why Content is not what was stored, or empty.
	Problem string
	Object  *appsv1.ControllerRevision
}

// String returns how messages name the revision.
func (r Revision) String() string { return fmt.Sprintf("%d (%s)", r.Number, r.Hash) }

// NewHistory returns the kept revisions of a set, those with a lower number first. Among stored may be
// ControllerRevisions of other owners.
func NewHistory(set *v1alpha1.ConfigMapReplicaSet, stored []appsv1.ControllerRevision) []Revision {
	var history []Revision
	for i := range stored {
		object := &stored[i]
		hash := object.Labels[manifests.RevisionAnnotation]
		if hash == "" || !metav1.IsControlledBy(object, set) {
			continue
		}
		revision := Revision{Number: object.Revision, Hash: hash, Created: object.CreationTimestamp.Time, State: stateOf(set, hash), Object: object}
		revision.Content, revision.Problem = decode(object, hash)
		history = append(history, revision)
	}
	slices.SortFunc(history, func(a, b Revision) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Hash, b.Hash)) })
	return history
}

// decode returns the content of a stored revision. The controller does not use one with the content of another.
func decode(object *appsv1.ControllerRevision, hash string) (render.Revision, string) {
	content, err := render.Decode(object.Data)
	if err != nil {
		return render.Revision{}, err.Error()
	}
	_, actual, err := content.Encode()
	switch {
	case err != nil:
		return render.Revision{}, err.Error()
	case actual != hash:
		return render.Revision{}, "it was changed: it has the content of " + actual
	}
	return content, ""
}

func stateOf(set *v1alpha1.ConfigMapReplicaSet, hash string) string {
	switch hash {
	case set.Status.CurrentRevision:
		return "current"
	case set.Status.UpdatedRevision:
		if condition := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionRolledOut); condition != nil {
			return "being rolled out (" + condition.Reason + ")"
		}
		return "being rolled out"
	}
	return ""
}

// aHash is the form of a revision's hash. It may consist of digits only; no number has so many.
var aHash = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Find returns the revision of this number or hash.
func Find(set string, history []Revision, which string) (Revision, error) {
	is := func(r Revision) bool { return r.Hash == which }
	if !aHash.MatchString(which) {
		number, err := strconv.ParseInt(which, 10, 64)
		if err != nil || number < 1 {
			return Revision{}, fmt.Errorf("%q is no revision: want a number or a hash of 16 hexadecimal digits from the history of %s", which, Named(set))
		}
		is = func(r Revision) bool { return r.Number == number }
	}
	if i := slices.IndexFunc(history, is); i >= 0 {
		return history[i], nil
	}
	return Revision{}, fmt.Errorf("revision %s of %s is not kept: look for another in its history", which, Named(set))
}

// Table returns the history as a table.
func Table(history []Revision) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "REVISION\tHASH\tCREATED\tSTATE\tCHANGED")
	for i, revision := range history {
		changed := ""
		if i > 0 {
			changed = text.List(changes(history[i-1].Content, revision.Content), maxChanges)
		}
		if revision.Problem != "" {
			changed = "not usable: " + revision.Problem
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", revision.Number, revision.Hash, revision.Created.UTC().Format(time.RFC3339),
			cmp.Or(revision.State, "-"), cmp.Or(changed, "-"))
	}
	_ = table.Flush() // a strings.Builder has no errors
	return out.String()
}

// maxChanges is how many changes a row of the history names.
const maxChanges = 3

// changes returns what differs between two revisions: +NAME or -NAME is a ConfigMap, NAME/KEY is an entry of one, $(NAME)
// is a value.
func changes(before, after render.Revision) (all []string) {
	was, is := byName(before.Sources), byName(after.Sources)
	for _, name := range union(was, is) {
		switch a, b := was[name], is[name]; {
		case a == nil:
			all = append(all, "+"+name)
		case b == nil:
			all = append(all, "-"+name)
		default:
			for _, key := range changedKeys(*a, *b) {
				all = append(all, name+"/"+key)
			}
		}
	}
	return append(all, changedValues(before.Values, after.Values)...)
}

func byName(contents []render.Content) map[string]*render.Content {
	named := map[string]*render.Content{}
	for i := range contents {
		named[contents[i].Name] = &contents[i]
	}
	return named
}

// changedKeys returns the keys whose entries differ, and "immutable" if that does.
func changedKeys(a, b render.Content) (keys []string) {
	for _, key := range union(a.Data, b.Data) {
		was, before := a.Data[key]
		is, after := b.Data[key]
		if before != after || was != is {
			keys = append(keys, key)
		}
	}
	for _, key := range union(a.BinaryData, b.BinaryData) {
		was, before := a.BinaryData[key]
		is, after := b.BinaryData[key]
		if (before != after || string(was) != string(is)) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if a.Immutable != b.Immutable {
		keys = append(keys, "immutable")
	}
	return keys
}

// changedValues returns the values whose definitions differ, as $(NAME).
func changedValues(before, after []v1alpha1.Value) (all []string) {
	was, is := valuesByName(before), valuesByName(after)
	for _, name := range union(was, is) {
		a, defined := was[name]
		b, stays := is[name]
		if defined != stays || !equality.Semantic.DeepEqual(a, b) {
			all = append(all, "$("+name+")")
		}
	}
	return all
}

func valuesByName(values []v1alpha1.Value) map[string]v1alpha1.Value {
	named := map[string]v1alpha1.Value{}
	for _, value := range values {
		named[value.Name] = value
	}
	return named
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
