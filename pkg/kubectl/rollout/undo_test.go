package rollout

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

type apiError = apierrors.StatusError

// scrub replaces what differs from run to run.
func (h *hub) scrub(text string) string {
	set := h.set()
	return strings.NewReplacer(string(set.UID), "d2a9…", "\n  uid: "+h.uidOf(text), "\n  uid: 5c1e…", "resourceVersion: \""+h.versionOf(text)+"\"", "resourceVersion: \"1042\"").Replace(text)
}

func (h *hub) uidOf(text string) string { return between(text, "\n  uid: ", "\n") }

func (h *hub) versionOf(text string) string { return between(text, "resourceVersion: \"", "\"") }

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

// TestUndo: one source is written once.
func TestUndo(t *testing.T) {
	h := threeRevisions(t)
	stdout, stderr, err := h.run("undo", "settings", "--dry-run=client")
	if err != nil || stderr != "" {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
	golden(t, "undo-dry-run.txt", stdout)
	dry, _, err := h.run("undo", "settings", "--dry-run=server")
	if err != nil {
		t.Error(err)
	}
	golden(t, "undo-server-dry-run.txt", dry)
	if _, there := h.data("settings")["zone"]; !there {
		t.Error("a dry run has written")
	}
	if diff := cmp.Diff([]string{"update configmaps settings"}, h.writes()); diff != "" {
		t.Errorf("only the server's dry run asks to write (-want +got):\n%s", diff)
	}

	stdout, stderr, err = h.run("undo", "settings")
	if err != nil || stderr != "" {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
	golden(t, "undo.txt", stdout)
	if diff := cmp.Diff([]string{"update configmaps settings"}, h.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if _, present := h.revision(); present.Revision != h.set().Status.CurrentRevision {
		t.Errorf("the sources make %+v, want the current revision %s", present, h.set().Status.CurrentRevision)
	}
	if source := h.Get("configmaps", "team-a", "settings"); source.GetLabels()["team"] != "a" {
		t.Errorf("the labels are lost: %+v", source)
	}

	h.rollOut()
	stdout, _, err = h.run("undo", "settings", "--to-revision="+h.set().Status.CurrentRevision)
	if err != nil || !strings.Contains(stdout, "skipped rollback (the sources have revision 4 ") || h.writes() != nil {
		t.Errorf("error %v, stdout %q", err, stdout)
	}
	if _, _, err := h.run("undo", "settings", "--to-revision=1"); err != nil || h.data("settings")["level"] != "debug" {
		t.Errorf("error %v, the source has %v", err, h.data("settings"))
	}
}

// twoSources are a hub with two sources and a value, each of which changed in the second revision.
func twoSources(t *testing.T) *hub {
	t.Helper()
	h := newHub(t)
	h.source("limits", map[string]string{"cpu": "1"})
	h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) {
		s.ConfigMaps = append(s.ConfigMaps, v1alpha1.ConfigMapReference{Name: "limits"})
	})
	h.rollOut()
	h.source("limits", map[string]string{"cpu": "2"})
	h.source("settings", map[string]string{"level": "debug"})
	h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) { s.Values = nil })
	h.rollOut()
	h.Requests()
	return h
}

// TestUndoOfSeveral: nothing is written, because clusters could get what is between two writes.
func TestUndoOfSeveral(t *testing.T) {
	h := twoSources(t)
	first := h.first()
	_, _, err := h.run("undo", "settings")
	expect(t, err, "nothing was written: 3 objects differ from it: ConfigMap limits, ConfigMap settings, the spec of configmapreplicaset \"settings\". "+
		"undo writes one object, because clusters could get what is between two writes. Write their former content in one kubectl apply; "+
		"this shows it:\n  kubectl helloworld rollout history -n team-a settings --revision="+first)
	if writes := h.writes(); writes != nil {
		t.Errorf("writes: %v", writes)
	}
}

// TestUndoWhilePaused: the set stays as its user wants it.
func TestUndoWhilePaused(t *testing.T) {
	h := threeRevisions(t)
	h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) { s.Paused = true })
	_, stderr, err := h.run("undo", "settings")
	if err != nil || stderr != "note: configmapreplicaset \"settings\" is paused: no cluster gets the revision before it is resumed\n" {
		t.Errorf("stderr %q, error %v", stderr, err)
	}
	if diff := cmp.Diff([]string{"update configmaps settings"}, h.writes()); diff != "" || !h.set().Spec.Paused {
		t.Errorf("paused %t, writes (-want +got):\n%s", h.set().Spec.Paused, diff)
	}
}

// twoValues is a hub where the spec changed in the second revision.
func twoValues(t *testing.T) *hub {
	t.Helper()
	h := newHub(t)
	h.rollOut()
	h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) { s.Values[0].Label = "zone" })
	h.rollOut()
	h.Requests()
	return h
}

// TestUndoFails: a write that failed differs from one whose outcome is not known.
func TestUndoFails(t *testing.T) {
	source, spec := "update ConfigMap team-a/settings: ", "patch ConfigMapReplicaSet team-a/settings: "
	abort := func() *apiError { panic(http.ErrAbortHandler) }
	forbid := func() *apiError {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "settings", nil)
	}
	expire := func() *apiError { return apierrors.NewTimeoutError("the request did not complete", 0) }
	for _, test := range []struct {
		name, reason string
		hub          func(*testing.T) *hub
		answer       func() *apiError
		args         []string
		want         string
		unknown      bool
	}{
		{"source, refused", "the API server did not write", threeRevisions, forbid, nil, source, false},
		{"source, connection lost", "it may have written", threeRevisions, abort, nil, source, true},
		{"source, timeout of the API server", "it may have written", threeRevisions, expire, nil, source, true},
		{"source, forced", "the repetition is forced, too", threeRevisions, abort, []string{"--force-conflicts"}, source, true},
		{"source, dry run", "a dry run writes nothing", threeRevisions, abort, []string{"--dry-run=server"}, source, false},
		{"spec, refused", "the API server did not write", twoValues, forbid, nil, spec, false},
		{"spec, connection lost", "it may have written", twoValues, abort, nil, spec, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := test.hub(t)
			var to string // the revision that the undo writes
			for _, r := range h.List("controllerrevisions", "team-a") {
				if hash := strings.TrimPrefix(r.GetName(), "settings-"); strings.Contains(test.name, "spec") && hash != h.set().Status.CurrentRevision ||
					strings.Contains(test.name, "source") && hash == h.set().Status.CurrentRevision {
					to = hash
				}
			}
			var once atomic.Bool
			h.After = func(r fakeapi.Request) *apiError {
				if (r.Verb == "update" || r.Verb == "patch") && once.CompareAndSwap(false, true) {
					return test.answer()
				}
				return nil
			}
			stdout, _, err := h.run(append([]string{"undo", "settings"}, test.args...)...)
			expect(t, err, test.want)
			again := []string{"kubectl", "helloworld", "rollout", "undo", "-n", "team-a", "settings", "--to-revision=" + to}
			if slices.Contains(test.args, "--force-conflicts") {
				again = append(again, test.args...)
			}
			advice := "; the write may have been carried out. Repeat it:\n  " + strings.Join(again, " ")
			if err == nil || strings.HasSuffix(err.Error(), advice) != test.unknown || strings.Contains(err.Error(), "may have been") != test.unknown || stdout != "" {
				t.Errorf("%s: stdout %q, error %v, want at its end %q: %t", test.reason, stdout, err, advice, test.unknown)
			}
			if !test.unknown {
				return
			}
			if stdout, _, err = h.run(again[3:]...); err != nil || !strings.Contains(stdout, "skipped rollback") {
				t.Errorf("the repetition: stdout %q, error %v", stdout, err)
			}
		})
	}
}

// TestUndoWithoutList: the other sets serve a note alone, so a user without the right to list them can undo.
func TestUndoWithoutList(t *testing.T) {
	for _, test := range []struct {
		name, reason, stderr, problem string
		hub                           func(*testing.T) *hub
		answer                        *apiError
	}{
		{"forbidden", "it states what it does not know", "note: whether ConfigMap settings is a source of other sets, too, is not known: list the ConfigMapReplicaSets of namespace team-a: ",
			"", threeRevisions, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)},
		{"spec", "no source is written", "", "", twoValues, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)},
		{"another failure", "it may pass", "", "list the ConfigMapReplicaSets of namespace team-a: ", threeRevisions, apierrors.NewInternalError(errors.New("etcd is away"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := test.hub(t)
			h.Before = func(r fakeapi.Request) *apiError {
				if r.Verb == "list" && r.Resource == resource {
					return test.answer
				}
				return nil
			}
			_, stderr, err := h.run("undo", "settings")
			expect(t, err, test.problem)
			if !strings.HasPrefix(stderr, test.stderr) || test.stderr == "" && stderr != "" || len(h.writes()) != 1 != (test.problem != "") {
				t.Errorf("%s: stderr %q", test.reason, stderr)
			}
		})
	}
}

// TestProtobuf: ConfigMaps are read and written as the controller does. JSON has no text that is not UTF-8.
func TestProtobuf(t *testing.T) {
	h := threeRevisions(t)
	served := h.HTTP().Config.Handler
	var types []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps/settings") {
			types = append(types, r.Method+" "+r.Header.Get("Accept")+r.Header.Get("Content-Type"))
		}
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	if _, _, err := h.run("undo", "settings", "--server="+proxy.URL); err != nil {
		t.Error(err)
	}
	const both = "application/vnd.kubernetes.protobuf,application/json"
	if diff := cmp.Diff([]string{"GET " + both, "PUT " + both + "application/vnd.kubernetes.protobuf"}, slices.Compact(types)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// first returns the hash of the first revision.
func (h *hub) first() string {
	for _, object := range h.List("controllerrevisions", "team-a") {
		if hash := strings.TrimPrefix(object.GetName(), "settings-"); hash != h.set().Status.CurrentRevision {
			return hash
		}
	}
	h.t.Fatal("there is one revision only")
	return ""
}

// TestUndoConflict: another writer between read and write.
func TestUndoConflict(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		meanwhile    func(*corev1.ConfigMap)
		times        int
		want         string
		writes       int
	}{
		{"labels", "it has nothing to do with the content", func(c *corev1.ConfigMap) { c.Labels = map[string]string{"more": "labels"} }, 1, "", 2},
		{"content", "the user has not seen it", func(c *corev1.ConfigMap) { c.Data = map[string]string{"level": "fatal"} }, 1,
			"ConfigMap settings was changed by another writer meanwhile", 1},
		{"always", "it ends", func(c *corev1.ConfigMap) { c.Labels = map[string]string{"at": c.ResourceVersion} }, 1000, "update ConfigMap team-a/settings: Operation cannot be fulfilled", 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := threeRevisions(t)
			h.Before = func(r fakeapi.Request) *apiError {
				if r.Verb == "update" && test.times > 0 {
					test.times--
					h.Change("configmaps", "team-a", "settings", func(o fakeapi.Object) { test.meanwhile(o.(*corev1.ConfigMap)) })
				}
				return nil
			}
			_, _, err := h.run("undo", "settings")
			expect(t, err, test.want)
			if writes := h.writes(); len(writes) != test.writes {
				t.Errorf("%s: %v", test.reason, writes)
			}
			if _, zone := h.data("settings")["zone"]; zone == (test.want == "") && test.name != "content" {
				t.Errorf("%s: the source has %v", test.reason, h.data("settings"))
			}
		})
	}
}

// TestUndoSpecConflict: the status is written all the time, the spec by a person.
func TestUndoSpecConflict(t *testing.T) {
	for _, test := range []struct {
		name, want string
		meanwhile  func(*v1alpha1.ConfigMapReplicaSet)
	}{
		{"status", "", func(s *v1alpha1.ConfigMapReplicaSet) { s.Status.Summary.Total++ }},
		{"values", `configmapreplicaset "settings" was changed by another writer meanwhile`, func(s *v1alpha1.ConfigMapReplicaSet) {
			s.Spec.Values = []v1alpha1.Value{{Name: "ZONE", Label: "zone"}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := twoValues(t)
			var once atomic.Bool
			h.Before = func(r fakeapi.Request) *apiError {
				if r.Verb == "patch" && once.CompareAndSwap(false, true) {
					h.Change(resource, "team-a", "settings", func(o fakeapi.Object) { test.meanwhile(o.(*v1alpha1.ConfigMapReplicaSet)) })
				}
				return nil
			}
			_, _, err := h.run("undo", "settings")
			expect(t, err, test.want)
			if values := h.set().Spec.Values; test.want == "" && values[0].Label != "region" {
				t.Errorf("the values are %+v", values)
			}
		})
	}
}

// TestUndoRefused: nothing is written that the API server refuses. A source that is gone is created.
func TestUndoRefused(t *testing.T) {
	h := threeRevisions(t)
	h.Change("configmaps", "team-a", "settings", func(o fakeapi.Object) { o.(*corev1.ConfigMap).Immutable = new(true) })
	_, _, err := h.run("undo", "settings")
	expect(t, err, "nothing was written: ConfigMap settings is immutable: delete it, and the next undo creates it with its former content")
	if writes := h.writes(); writes != nil {
		t.Errorf("writes: %v", writes)
	}
	h.Remove("configmaps", "team-a", "settings")
	stdout, _, err := h.run("undo", "settings")
	if _, present := h.revision(); err != nil || !strings.HasPrefix(stdout, "configmap/settings created\n") || present.Revision != h.set().Status.CurrentRevision {
		t.Errorf("stdout %q, error %v, the sources make %+v", stdout, err, present)
	}

	h = newHub(t)
	_, _, err = h.run("undo", "settings")
	expect(t, err, `no former revision of configmapreplicaset "settings" is kept`)
}
