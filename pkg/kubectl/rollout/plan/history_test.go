package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

func TestNewHistory(t *testing.T) {
	set := newSet("settings")
	one, first := stored(t, set, 1, revisionOf(nil, newSource("settings", map[string]string{"level": "info"})))
	two, second := stored(t, set, 2, revisionOf(nil, newSource("settings", map[string]string{"level": "debug"})))
	three, third := stored(t, set, 3, revisionOf(nil, newSource("settings", map[string]string{"level": "warn"})))
	foreign, _ := stored(t, newSet("settings"), 4, render.Revision{})
	foreign.OwnerReferences[0].UID = "another-set"
	unlabelled := *two.DeepCopy()
	unlabelled.Labels = nil
	changed, broken := *two.DeepCopy(), *three.DeepCopy()
	changed.Data = one.Data
	broken.Data = runtime.RawExtension{Raw: []byte(`{`)}
	condition(set, rolledOut, no, "Stopped", "")
	set.Status.CurrentRevision, set.Status.UpdatedRevision = first, third

	type row struct {
		Number               int64
		Hash, State, Problem string
	}
	for _, test := range []struct {
		name, reason string
		stored       []appsv1.ControllerRevision
		want         []row
	}{
		{"order", "oldest first, by number", []appsv1.ControllerRevision{three, one, two},
			[]row{{1, first, "current", ""}, {2, second, "", ""}, {3, third, "being rolled out (Stopped)", ""}}},
		{"of others", "the set does not own them", []appsv1.ControllerRevision{one, foreign, unlabelled}, []row{{1, first, "current", ""}}},
		{"changed", "the controller does not use one whose content is another's", []appsv1.ControllerRevision{changed},
			[]row{{2, second, "", "it was changed: it has the content of " + first}}},
		{"broken", "it cannot be read", []appsv1.ControllerRevision{broken},
			[]row{{3, third, "being rolled out (Stopped)", "decode a revision: unexpected end of JSON input"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []row
			for _, revision := range NewHistory(set, test.stored) {
				got = append(got, row{revision.Number, revision.Hash, revision.State, revision.Problem})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
	set.Status.Conditions = nil
	if got := NewHistory(set, []appsv1.ControllerRevision{three})[0].State; got != "being rolled out" {
		t.Errorf("without a condition: state %q", got)
	}
	set.Status.CurrentRevision = third
	if got := NewHistory(set, []appsv1.ControllerRevision{three})[0].State; got != "current" {
		t.Errorf("the updated revision has reached every cluster: state %q", got)
	}
}

func TestFind(t *testing.T) {
	const digits = "1234567890123456"
	history := []Revision{{Number: 1, Hash: "bfabb114cf8ff7eb"}, {Number: 2, Hash: digits}}
	for _, test := range []struct {
		which, reason, want, problem string
	}{
		{"1", "a number", "bfabb114cf8ff7eb", ""},
		{"2", "a number", digits, ""},
		{"bfabb114cf8ff7eb", "a hash", "bfabb114cf8ff7eb", ""},
		{digits, "a hash of digits only is no number", digits, ""},
		{"3", "there is none", "", `revision 3 of configmapreplicaset "settings" is not kept: look for another in its history`},
		{"0000000000000000", "there is none", "", `revision 0000000000000000 of configmapreplicaset "settings" is not kept: look for another in its history`},
		{"bfab", "a part of a hash may become ambiguous", "", `"bfab" is no revision: want a number or a hash of 16 hexadecimal digits from the history of configmapreplicaset "settings"`},
		{"sixteen-letters-", "neither", "", `"sixteen-letters-" is no revision: want a number or a hash of 16 hexadecimal digits from the history of configmapreplicaset "settings"`},
		{"-1", "numbers begin with 1", "", `"-1" is no revision: want a number or a hash of 16 hexadecimal digits from the history of configmapreplicaset "settings"`},
	} {
		got, err := Find("settings", history, test.which)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got.Hash != test.want || message != test.problem {
			t.Errorf("%s: %s: got %q, error %q", test.which, test.reason, got.Hash, message)
		}
	}
}

func TestChanges(t *testing.T) {
	yes, eu := true, "eu"
	base := newSource("settings", map[string]string{"level": "info", "same": "a"})
	limits := newSource("limits", nil)
	label := []v1alpha1.Value{{Name: "REGION", Label: "region"}}
	for _, test := range []struct {
		name, reason  string
		before, after render.Revision
		want          string
	}{
		{"nothing", "the same", revisionOf(label, base), revisionOf(label, base), ""},
		{"key", "one entry differs", revisionOf(nil, base), revisionOf(nil, newSource("settings", map[string]string{"level": "debug", "same": "a"})), "settings/level"},
		{"empty entry", "an empty entry is one", revisionOf(nil, newSource("settings", nil)), revisionOf(nil, newSource("settings", map[string]string{"a": ""})), "settings/a"},
		{"binary", "the same for binaryData", revisionOf(nil, newSource("settings", nil)),
			revisionOf(nil, &corev1.ConfigMap{ObjectMeta: base.ObjectMeta, BinaryData: map[string][]byte{"logo": {}}}), "settings/logo"},
		{"moved", "from data to binaryData is one change", revisionOf(nil, newSource("settings", map[string]string{"logo": "a"})),
			revisionOf(nil, &corev1.ConfigMap{ObjectMeta: base.ObjectMeta, BinaryData: map[string][]byte{"logo": []byte("a")}}), "settings/logo"},
		{"immutable", "it is delivered", revisionOf(nil, base), revisionOf(nil, &corev1.ConfigMap{ObjectMeta: base.ObjectMeta, Data: base.Data, Immutable: &yes}), "settings/immutable"},
		{"ConfigMaps", "one more, one less", revisionOf(nil, base), revisionOf(nil, limits), "+limits, -settings"},
		{"values", "defined, changed, gone", revisionOf(append(label, v1alpha1.Value{Name: "ZONE", Label: "zone"})),
			revisionOf([]v1alpha1.Value{{Name: "REGION", Label: "region", Default: &eu}, {Name: "URL", Claim: "url"}}), "$(REGION), $(URL), $(ZONE)"},
		{"many", "a row has an end", revisionOf(nil), revisionOf(nil, newSource("a", nil), newSource("b", nil), newSource("c", nil), newSource("d", nil)), "+a, +b, +c and 1 more"},
	} {
		if got := text.List(changes(test.before, test.after), maxChanges); got != test.want {
			t.Errorf("%s: %s: got %q, want %q", test.name, test.reason, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	eu := "eu"
	set := newSet("settings")
	revision := kept(t, set, 3, revisionOf([]v1alpha1.Value{{Name: "REGION", Label: "region", Default: &eu}, {Name: "ID", Claim: "id.k8s.io"},
		{Name: "URL", Expression: "'https://' + cluster.metadata.name"}},
		&corev1.ConfigMap{ObjectMeta: newSource("settings", nil).ObjectMeta, BinaryData: map[string][]byte{"logo": {1, 2, 3}}, Immutable: new(true),
			Data: map[string]string{"empty": "", "region": "$(REGION)", "terminal": "a\x1b[2Jb", "text": "one\n\ttwo\n"}}))
	want := `configmapreplicaset "settings" with revision 3 (` + revision.Hash + `), created 2026-11-23T15:00:00Z

ConfigMap settings (immutable)
  empty: ""
  region: $(REGION)
  terminal: "a\x1b[2Jb"
  text:
    one
    	two
  logo: 3 bytes of binaryData

Values
  $(ID)       claim id.k8s.io
  $(REGION)   label region, default "eu"
  $(URL)      expression 'https://' + cluster.metadata.name
`
	if diff := cmp.Diff(want, Describe("settings", revision)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	revision.Problem, revision.State = "it was changed", "current"
	if got := Describe("settings", revision); !strings.HasSuffix(got, ", current\n\nIts content is not usable: it was changed\n") {
		t.Errorf("a revision without content: got %q", got)
	}
}
