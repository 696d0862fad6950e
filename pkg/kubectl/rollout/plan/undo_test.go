package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

func TestTarget(t *testing.T) {
	history := []Revision{{Number: 1, Hash: "a"}, {Number: 2, Hash: "b"}, {Number: 3, Hash: "c"}}
	for _, test := range []struct {
		name, reason     string
		current, present string
		history          []Revision
		which, want      string
	}{
		{"rolled out", "the one before", "c", "c", history, "", "b"},
		{"being rolled out", "the last that reached every cluster", "a", "c", history, "", "a"},
		{"invalid sources", "they make no revision; all clusters have the current one", "b", "", history, "", "b"},
		{"not seen yet", "the sources were changed a moment ago", "c", "d", history, "", "c"},
		{"first rollout", "none reached every cluster: the one before", "", "c", history, "", "b"},
		{"current is not kept", "the one before", "gone", "c", history, "", "b"},
		{"went back", "the highest number was the other one", "a", "a", []Revision{{Number: 2, Hash: "b"}, {Number: 3, Hash: "a"}}, "", "b"},
		{"number", "as asked for", "c", "c", history, "1", "a"},
		{"zero", "kubectl's word for the default", "c", "c", history, "0", "b"},
		{"nothing else", "there is no former one", "a", "a", history[:1], "", `no former revision of configmapreplicaset "settings" is kept`},
		{"no such number", "it says so", "c", "c", history, "7", `revision 7 of configmapreplicaset "settings" is not kept: look for another in its history`},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := newSet("settings")
			set.Status.CurrentRevision = test.current
			target, err := Target(set, test.history, Present{Revision: test.present}, test.which)
			got := target.Hash
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}

// former is the content that the tests go back to: two ConfigMaps and a value.
func former(t *testing.T, set *v1alpha1.ConfigMapReplicaSet) Revision {
	t.Helper()
	return kept(t, set, 1, revisionOf([]v1alpha1.Value{{Name: "REGION", Label: "region"}},
		&corev1.ConfigMap{ObjectMeta: newSource("settings", nil).ObjectMeta, Data: map[string]string{"region": "$(REGION)"}, BinaryData: map[string][]byte{"logo": {0, 255}}},
		newSource("limits", map[string]string{"cpu": "1"})))
}

// scene is a set and its sources. As it is, they have the former revision.
type scene struct {
	set               *v1alpha1.ConfigMapReplicaSet
	settings, limits  *corev1.ConfigMap
	others            []v1alpha1.ConfigMapReplicaSet
	force             bool
	settingsGone      bool
	revisionIsChanged bool
}

func newScene() *scene {
	set := newSet("settings", "limits")
	set.Spec.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}}
	s := &scene{set: set, settings: newSource("settings", map[string]string{"region": "$(REGION)"}), limits: newSource("limits", map[string]string{"cpu": "1"})}
	s.settings.BinaryData = map[string][]byte{"logo": {0, 255}}
	return s
}

func managed(manager string, operation metav1.ManagedFieldsOperationType, fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: operation, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}}
}

func TestNewUndo(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	revision := former(t, newSet())
	name := revision.String()
	advice := "undo writes one object, because clusters could get what is between two writes. Write their former content in one kubectl apply; " +
		"this shows it:\n  kubectl helloworld rollout history -n team-a settings --revision=" + revision.Hash
	change := func(s *scene) { s.settings.Data = map[string]string{"region": "eu"} }
	for _, test := range []struct {
		name, reason string
		arrange      func(*scene)
		writes       []string
		notes        []string
		problem      string
	}{
		{name: "nothing", reason: "the sources have the revision", arrange: func(*scene) {}},
		{name: "no data", reason: "a missing map and an empty one are the same", arrange: func(s *scene) { s.limits.BinaryData = map[string][]byte{} }},
		{name: "order", reason: "the order of sources has no meaning", arrange: func(s *scene) { slices.Reverse(s.set.Spec.ConfigMaps) }},
		{name: "one source", reason: "one write is atomic", arrange: change, writes: []string{"settings"}},
		{name: "values", reason: "the same for the set", arrange: func(s *scene) { s.set.Spec.Values[0].Label = "zone" },
			writes: []string{`{"values":[{"name":"REGION","label":"region"}]}`}},
		{name: "ConfigMaps", reason: "the set names another source; that one stays", arrange: func(s *scene) { s.set.Spec.ConfigMaps[1].Name = "more" },
			writes: []string{`{"configMaps":[{"name":"limits"},{"name":"settings"}]}`},
			notes:  []string{"ConfigMap more is not in revision " + name + ": it stays in team-a, and is removed from the clusters"}},
		{name: "two sources", reason: "between the writes the sources make a revision of neither", arrange: func(s *scene) { change(s); s.limits.Data = nil },
			problem: "2 objects differ from it: ConfigMap limits, ConfigMap settings. " + advice},
		{name: "source and values", reason: "the spec is one of them", arrange: func(s *scene) { change(s); s.set.Spec.Values = nil },
			problem: `2 objects differ from it: ConfigMap settings, the spec of configmapreplicaset "settings". ` + advice},
		{name: "two sources, paused", reason: "what is between is stored all the same", arrange: func(s *scene) { change(s); s.limits.Data = nil; s.set.Spec.Paused = true },
			problem: "2 objects differ from it: ConfigMap limits, ConfigMap settings. " + advice},
		{name: "paused", reason: "it stays paused", arrange: func(s *scene) { change(s); s.set.Spec.Paused = true },
			writes: []string{"settings"}, notes: []string{`configmapreplicaset "settings" is paused: no cluster gets the revision before it is resumed`}},
		{name: "paused, nothing", reason: "there is nothing to state", arrange: func(s *scene) { s.set.Spec.Paused = true }},
		{name: "source gone", reason: "it is created", arrange: func(s *scene) { s.settingsGone = true }, writes: []string{"settings"}},
		{name: "immutable", reason: "the API server refuses the write", arrange: func(s *scene) { change(s); s.settings.Immutable = new(true) },
			problem: "ConfigMap settings is immutable: delete it, and the next undo creates it with its former content"},
		{name: "immutable, same data", reason: "the field cannot be taken back", arrange: func(s *scene) { s.settings.Immutable = new(true) },
			problem: "ConfigMap settings is immutable: delete it, and the next undo creates it with its former content"},
		{name: "not immutable", reason: "false is as good as none", arrange: func(s *scene) { change(s); s.settings.Immutable = new(false) }, writes: []string{"settings"}},
		{name: "being deleted", reason: "the write would be lost", arrange: func(s *scene) { change(s); s.settings.DeletionTimestamp = &metav1.Time{Time: start} },
			problem: "ConfigMap settings is being deleted: wait until it is gone, or take its finalizers off"},
		{name: "set being deleted", reason: "nothing follows", arrange: func(s *scene) { change(s); s.set.DeletionTimestamp = &metav1.Time{Time: start} },
			problem: `configmapreplicaset "settings" is being deleted`},
		{name: "applied", reason: "its applier would write it again",
			arrange: func(s *scene) {
				change(s)
				s.settings.ManagedFields = managed("argocd", apply, `{"f:data":{"f:region":{}}}`)
			},
			problem: "ConfigMap settings is applied by argocd, which would write its content again: go back there, or add --force-conflicts"},
		{name: "applied, forced", reason: "the user wants it",
			arrange: func(s *scene) {
				change(s)
				s.settings.ManagedFields, s.force = managed("argocd", apply, `{"f:data":{"f:region":{}}}`), true
			}, writes: []string{"settings"}},
		{name: "labels applied", reason: "they are not written", writes: []string{"settings"},
			arrange: func(s *scene) {
				change(s)
				s.settings.ManagedFields = managed("argocd", apply, `{"f:metadata":{"f:labels":{}}}`)
			}},
		{name: "applied, not to be written", reason: "it has its former content", writes: []string{"settings"},
			arrange: func(s *scene) { change(s); s.limits.ManagedFields = managed("argocd", apply, `{"f:data":{}}`) }},
		{name: "applied by kubectl", reason: "a person does that once", writes: []string{"settings"},
			arrange: func(s *scene) { change(s); s.settings.ManagedFields = managed("kubectl", apply, `{"f:data":{}}`) }},
		{name: "status applied", reason: "a subresource is not the content", writes: []string{"settings"},
			arrange: func(s *scene) {
				change(s)
				s.settings.ManagedFields = managed("argocd", apply, `{"f:data":{}}`)
				s.settings.ManagedFields[0].Subresource = "status"
			}},
		{name: "written by a program", reason: "it may write again, or not", writes: []string{"settings"},
			arrange: func(s *scene) { change(s); s.settings.ManagedFields = managed("sync", update, `{"f:data":{}}`) },
			notes:   []string{"ConfigMap settings was written by sync: if that writes it again, the rollback ends"}},
		{name: "values applied", reason: "the same for the set",
			arrange: func(s *scene) {
				s.set.Spec.Values[0].Label = "zone"
				s.set.ManagedFields = managed("argocd", apply, `{"f:spec":{"f:values":{}}}`)
			},
			problem: `configmapreplicaset "settings" is applied by argocd, which would write its content again: go back there, or add --force-conflicts`},
		{name: "ConfigMaps applied", reason: "the list that is written is another one", writes: []string{`{"values":[{"name":"REGION","label":"region"}]}`},
			arrange: func(s *scene) {
				s.set.Spec.Values[0].Label = "zone"
				s.set.ManagedFields = managed("argocd", apply, `{"f:spec":{"f:configMaps":{}}}`)
			}},
		{name: "set applied, not written", reason: "only a source is written", writes: []string{"settings"},
			arrange: func(s *scene) {
				change(s)
				s.set.ManagedFields = managed("argocd", apply, `{"f:spec":{"f:values":{}}}`)
			}},
		{name: "another set", reason: "its clusters get the former content, too", writes: []string{"settings"},
			arrange: func(s *scene) {
				change(s)
				other := newSet("settings", "limits")
				other.Name, other.UID = "others", "other-uid"
				s.others = []v1alpha1.ConfigMapReplicaSet{*s.set, *other}
			}, notes: []string{`ConfigMap settings is a source of configmapreplicaset "others", too`}},
		{name: "changed revision", reason: "its content is not what the clusters had", arrange: func(s *scene) { change(s); s.revisionIsChanged = true },
			problem: "revision " + name + " cannot be restored: it was changed"},
		{name: "two problems", reason: "all are named", arrange: func(s *scene) {
			change(s)
			s.settings.Immutable, s.limits.Data, s.limits.Immutable = new(true), nil, new(true)
		}, problem: "ConfigMap limits is immutable: delete it, and the next undo creates it with its former content\n" +
			"ConfigMap settings is immutable: delete it, and the next undo creates it with its former content\n" +
			"2 objects differ from it: ConfigMap limits, ConfigMap settings. " + advice},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			test.arrange(s)
			facts := Facts{Set: s.set, Sources: sourcesOf(s.settings, s.limits, newSource("more", nil)), Others: s.others, ForceConflicts: s.force}
			if s.settingsGone {
				delete(facts.Sources, "settings")
			}
			to := revision
			if s.revisionIsChanged {
				to.Problem = "it was changed"
			}
			undo, err := NewUndo(facts, to)
			if err != nil || test.problem != "" {
				if err == nil || err.Error() != test.problem {
					t.Errorf("%s: got error %v, want %s", test.reason, err, test.problem)
				}
				return
			}
			if diff := cmp.Diff(test.writes, writesOf(t, undo)); diff != "" || undo.Nothing() != (test.writes == nil) {
				t.Errorf("%s: nothing %t, writes (-want +got):\n%s", test.reason, undo.Nothing(), diff)
			}
			if diff := cmp.Diff(test.notes, undo.Notes); diff != "" {
				t.Errorf("%s: notes (-want +got):\n%s", test.reason, diff)
			}
			expectRestored(t, facts, undo)
		})
	}
}

func writesOf(t *testing.T, undo Undo) (writes []string) {
	t.Helper()
	if undo.Source != nil {
		writes = append(writes, undo.Source.Former.Name)
	}
	if undo.Spec != nil {
		patch, err := json.Marshal(undo.Spec.Patch())
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, string(patch))
	}
	return writes
}

// expectRestored carries the undo out, and compares what the sources then make.
func expectRestored(t *testing.T, facts Facts, undo Undo) {
	t.Helper()
	set := facts.Set.DeepCopy()
	if write := undo.Source; write != nil {
		object := write.Object()
		if before := write.Present; before != nil && (object.ResourceVersion != before.ResourceVersion || object.UID != before.UID ||
			!cmp.Equal(object.Labels, before.Labels)) {
			t.Errorf("the write of %s changes more than the content: %+v", object.Name, object)
		}
		facts.Sources[object.Name] = object
	}
	if undo.Spec != nil {
		patch, err := json.Marshal(undo.Spec.Patch())
		if err == nil {
			err = json.Unmarshal(patch, &set.Spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Present{Revision: undo.To.Hash}, NewPresent(set, facts.Sources)); diff != "" {
		t.Errorf("what the sources make after the undo (-want +got):\n%s", diff)
	}
}

// TestRestoreAbsence: a list that the revision lacks is removed from the spec.
func TestRestoreAbsence(t *testing.T) {
	set := newSet("settings")
	set.Spec.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}}
	undo, err := NewUndo(Facts{Set: set, Sources: sourcesOf(newSource("settings", nil))}, kept(t, set, 1, revisionOf(nil, newSource("settings", nil))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"values":null}`}, writesOf(t, undo)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRestoreImmutable: immutable is a part of the content.
func TestRestoreImmutable(t *testing.T) {
	set, source := newSet("settings"), newSource("settings", map[string]string{"a": "b"})
	immutable := source.DeepCopy()
	immutable.Immutable = new(true)
	facts := Facts{Set: set, Sources: sourcesOf(source)}
	undo, err := NewUndo(facts, kept(t, set, 1, revisionOf(nil, immutable)))
	if err != nil || undo.Source == nil {
		t.Fatalf("writes %v, error %v", writesOf(t, undo), err)
	}
	expectRestored(t, facts, undo)
}

func TestAgain(t *testing.T) {
	present := newSource("settings", map[string]string{"a": "now"})
	write := SourceWrite{Namespace: "team-a", Present: present, Former: render.Content{Name: "settings", Data: map[string]string{"a": "former"}}}
	labelled := present.DeepCopy()
	labelled.Labels, labelled.ResourceVersion = map[string]string{"more": "labels"}, "8"
	frozen := labelled.DeepCopy()
	frozen.Finalizers, frozen.DeletionTimestamp = []string{"f"}, &metav1.Time{Time: start}
	const changed = "ConfigMap settings was changed by another writer meanwhile: look at it, and undo again"
	creation := write
	creation.Present = nil
	for _, test := range []struct {
		name, reason string
		write        SourceWrite
		now          *corev1.ConfigMap
		done         bool
		problem      string
	}{
		{"labels", "the content is what the user saw", write, labelled, false, ""},
		{"content", "the user has not seen it", write, newSource("settings", map[string]string{"a": "other"}), false, changed},
		{"gone", "it was deleted on purpose", write, nil, false, changed},
		{"restored", "another undo was faster", write, newSource("settings", map[string]string{"a": "former"}), true, ""},
		{"being deleted", "the write would be lost", write, frozen, false, "ConfigMap settings is being deleted: wait until it is gone, or take its finalizers off"},
		{"created", "another creation was faster", creation, newSource("settings", map[string]string{"a": "former"}), true, ""},
		{"created otherwise", "the user has not seen it", creation, present, false, changed},
		{"gone again", "it is created", creation, nil, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			again, err := test.write.Again(test.now)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != test.problem || again.Done() != test.done {
				t.Errorf("%s: done %t, error %q", test.reason, again.Done(), message)
			}
			if test.now != nil && err == nil && again.Object().ResourceVersion != test.now.ResourceVersion {
				t.Errorf("%s: the precondition is that of the former write", test.reason)
			}
		})
	}
}

func TestSpecAgain(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		change       func(*v1alpha1.ConfigMapReplicaSet)
		problem      bool
	}{
		{"status", "the controller writes it", func(s *v1alpha1.ConfigMapReplicaSet) { s.Status.UpdatedRevision = "r" }, false},
		{"pause", "another user paused it", func(s *v1alpha1.ConfigMapReplicaSet) { s.Spec.Paused = true }, false},
		{"values", "they would be lost", func(s *v1alpha1.ConfigMapReplicaSet) { s.Spec.Values[0].Label = "other" }, true},
		{"ConfigMaps", "they would be lost", func(s *v1alpha1.ConfigMapReplicaSet) { s.Spec.ConfigMaps = s.Spec.ConfigMaps[:1] }, true},
		{"another set", "it was deleted and created again", func(s *v1alpha1.ConfigMapReplicaSet) { s.UID = "other" }, true},
	} {
		before := newScene().set
		now := before.DeepCopy()
		test.change(now)
		if err := (SpecWrite{}).Again(before, now); (err != nil) != test.problem {
			t.Errorf("%s: %s: got %v", test.name, test.reason, err)
		}
	}
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"limits", "more", "settings"}, Names(newSet("settings", "more"), former(t, newSet()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChangeLines(t *testing.T) {
	long := strings.Repeat("0123456789", 10)
	present := &corev1.ConfigMap{ObjectMeta: newSource("settings", nil).ObjectMeta, Immutable: new(false),
		Data:       map[string]string{"same": "a", "level": "debug", "zone": "$(ZONE)", "long": long + "a" + long, "end": long + "a"},
		BinaryData: map[string][]byte{"logo": {1, 2}, "same.bin": {1}}}
	write := SourceWrite{Present: present, Former: render.Content{Name: "settings", Immutable: true,
		Data:       map[string]string{"same": "a", "level": "info", "empty": "", "long": long + "b" + long, "end": long},
		BinaryData: map[string][]byte{"logo": {3, 4}, "same.bin": {1}, "new": {}}}}
	want := []string{
		`data.empty: (none) -> ""`,
		`data.end: …"01234567890123456789a" -> …"01234567890123456789"`,
		`data.level: "debug" -> "info"`,
		`data.long: …"01234567890123456789a012345678901234567890123456789012345678"… -> …"01234567890123456789b012345678901234567890123456789012345678"…`,
		`data.zone: "$(ZONE)" -> (none)`,
		`binaryData.logo: 2 bytes -> other 2 bytes`,
		`binaryData.new: (none) -> 0 bytes`,
		`immutable: false -> true`,
	}
	if diff := cmp.Diff(want, write.Changes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write.Present = nil
	if got := write.Changes(); len(got) != 9 || got[0] != `data.empty: (none) -> ""` {
		t.Errorf("a ConfigMap that is created: %q", got)
	}
	set := newScene().set
	spec := SpecWrite{ConfigMaps: []v1alpha1.ConfigMapReference{{Name: "settings"}}, Values: []v1alpha1.Value{{Name: "ID", Claim: "id"}, {Name: "REGION", Label: "zone"}}}
	want = []string{`spec.configMaps: settings, limits -> settings`, `spec.values $(ID): (none) -> claim id`, `spec.values $(REGION): label region -> label zone`}
	if diff := cmp.Diff(want, spec.Changes(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`spec.values $(REGION): label region -> (none)`}, SpecWrite{NoValues: true}.Changes(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
