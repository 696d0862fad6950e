package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/manifests"
)

func revision(value string) configmaps.Change { return annotation(manifests.RevisionAnnotation, value) }

// TestMirrorStatus: what one source adds to the status. before is a source on which the mirror
// failed earlier.
func TestMirrorStatus(t *testing.T) {
	entry := func(revision string, state v1alpha1.MirrorState, message string) []string {
		return []string{revision, string(state), message}
	}
	r2 := revision("r2")
	tests := []struct {
		name, reason   string
		source, target *corev1.ConfigMap
		// failed and contested are the source for which the write failed, or was contested.
		failed, contested *corev1.ConfigMap
		want              []string
		total, synced     int32
	}{
		{"in sync", "it is counted alone", configMap("a", one), configMap("a", one, owned), nil, nil, nil, 1, 1},
		{"in sync with a revision", "the proof", configMap("a", one, r2), configMap("a", one, owned), nil, nil, entry("r2", "Synced", ""), 1, 1},
		{"missing", "about to be written", configMap("a", one), nil, nil, nil, entry("", "Pending", ""), 1, 0},
		{"differs", "the former content is on the cluster", configMap("a", two, r2), configMap("a", one, owned), nil, nil, entry("r2", "Pending", ""), 1, 0},
		{"immutable only on one side", "the copy does not equal the source", configMap("a", one, r2, immutable), configMap("a", one, owned), nil, nil,
			entry("r2", "Pending", ""), 1, 0},
		{"being deleted", "the copy that goes is none", configMap("a", one, r2), configMap("a", one, owned, terminating), nil, nil, entry("r2", "Pending", ""), 1, 0},
		{"another owner's", "the same content does not make it a copy", configMap("a", one, r2), configMap("a", one), nil, nil,
			entry("r2", "Conflict", "ConfigMap copies/a on cluster cluster1 is not a copy: delete it there, or hand it over to the add-on: "+
				"kubectl annotate configmap a -n copies helloworld.open-cluster-management.io/adopt=true"), 1, 0},
		{"failed", "with the reason", configMap("a", two, r2), configMap("a", one, owned), configMap("a", two, r2), nil, entry("r2", "Failed", "quota"), 1, 0},
		{"failed, other content", "the failure is about a former revision", configMap("a", two, r2), configMap("a", one, owned), configMap("a", nil), nil,
			entry("r2", "Pending", ""), 1, 0},
		{"failed, another revision of the same content", "the write would be the same", configMap("a", two, r2), configMap("a", one, owned),
			configMap("a", two, revision("r1")), nil, entry("r2", "Failed", "quota"), 1, 0},
		{"failed, immutable since", "the write would be another one", configMap("a", two, r2, immutable), configMap("a", one, owned),
			configMap("a", two, r2), nil, entry("r2", "Pending", ""), 1, 0},
		{"failed, and in sync now", "the copy proves it", configMap("a", two, r2), configMap("a", two, owned), configMap("a", two, r2), nil,
			entry("r2", "Synced", ""), 1, 1},
		{"contested", "also while the copy is right", configMap("a", one, r2), configMap("a", one, owned), nil, configMap("a", one), entry("r2", "Contested", "injector"), 1, 0},
		{"contested, other content", "the contest was about a former revision", configMap("a", two, r2), configMap("a", two, owned), nil, configMap("a", one),
			entry("r2", "Synced", ""), 1, 1},
		{"opted out", "it is not copied", configMap("a", one, r2, optOut), configMap("a", one, owned), nil, nil, nil, 0, 0},
		{"an excluded name", "it is not copied", configMap("kube-root-ca.crt", one, r2), nil, nil, nil, nil, 0, 0},
		{"a revision of 63 bytes", "it fits", configMap("a", one, revision(strings.Repeat("x", 63))), configMap("a", one, owned), nil, nil,
			entry(strings.Repeat("x", 63), "Synced", ""), 1, 1},
		{"a revision of 64 bytes", "it is ignored", configMap("a", one, revision(strings.Repeat("x", 64))), configMap("a", one, owned), nil, nil, nil, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var troubles Summary
			if test.failed != nil {
				troubles.Failed = []Failure{{Name: "a", Kind: Update, Reason: "quota", want: wantedOf(onHub(test.failed))}}
			}
			if test.contested != nil {
				troubles.Contested = []Failure{{Name: "a", Kind: Contested, Reason: "injector", want: wantedOf(onHub(test.contested))}}
			}
			var target *Copy
			if test.target != nil {
				target = onManaged(test.target)
			}
			status := scope.MirrorStatus(troubles, []*Source{onHub(test.source)}, func(string) *Copy { return target }, nil, start)
			var got []string
			for _, e := range status.ConfigMaps {
				got = entry(e.Revision, e.State, e.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if status.Total != test.total || status.Synced != test.synced {
				t.Errorf("%d of %d synced, want %d of %d", status.Synced, status.Total, test.synced, test.total)
			}
		})
	}
}

// TestFailuresKnowTheirContent: what the book records is about the content that the source had.
func TestFailuresKnowTheirContent(t *testing.T) {
	source, target := onHub(configMap("a", two, revision("r1"))), onManaged(configMap("a", one, owned))
	state := func(book *Book, source *Source) v1alpha1.MirrorState {
		status := scope.MirrorStatus(book.Troubles(), []*Source{source}, func(string) *Copy { return target }, nil, start)
		return status.ConfigMaps[0].State
	}
	next := onHub(configMap("a", map[string]string{"k": "3"}, revision("r2")))

	failing := &turns{NewBook(scope, 0), start}
	failing.turn(Update, source, target, errors.New("quota"))
	if got := [2]v1alpha1.MirrorState{state(failing.Book, source), state(failing.Book, next)}; got != [2]v1alpha1.MirrorState{"Failed", "Pending"} {
		t.Errorf("after a failed write of r1, r1 and r2 are %v", got)
	}
	_, outcome := failing.turn(Update, next, target, errors.New("quota"))
	if got := state(failing.Book, next); got != "Failed" || outcome.Change.Appeared != nil {
		t.Errorf("after a failed write of r2 it is %s, and to a user the failure is new: %v", got, outcome.Change.Appeared)
	}

	contested := &turns{NewBook(scope, 0), start}
	for range freeRepairs + 1 {
		contested.turn(Update, source, target, nil)
	}
	contested.Explain("a", "injector")
	if got := [2]v1alpha1.MirrorState{state(contested.Book, source), state(contested.Book, next)}; got != [2]v1alpha1.MirrorState{"Contested", "Pending"} {
		t.Errorf("after a contest about r1, r1 and r2 are %v", got)
	}
	contested.turn(Update, next, target, nil)
	target = onManaged(configMap("a", map[string]string{"k": "3"}, owned))
	if got := state(contested.Book, next); got != "Synced" {
		t.Errorf("r2 is %s right after its first write, which nobody has undone", got)
	}
	for wait := time.Second; wait > 0; {
		turn, _ := contested.turn(Update, next, target, nil)
		wait = turn.Wait
	}
	if got := state(contested.Book, next); got != "Contested" {
		t.Errorf("r2 is %s after it was undone, too", got)
	}
}

// TestMirrorStatusIsOrdered: first those with a revision, of them first what is not synced, each by name. A rollout
// depends on those with a revision, so that others must not take their place.
func TestMirrorStatusIsOrdered(t *testing.T) {
	var sources []*Source
	for _, name := range []string{"d", "b", "c", "a"} {
		sources = append(sources, onHub(configMap(name, one, revision("r"))))
	}
	sources = append(sources, onHub(configMap("A", one)))
	status := scope.MirrorStatus(Summary{}, sources, func(name string) *Copy {
		if name == "a" || name == "c" {
			return onManaged(configMap(name, one, owned))
		}
		return nil
	}, nil, start)
	if diff := cmp.Diff([]string{"b", "d", "a", "c", "A"}, names(status)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func names(status v1alpha1.ConfigMapMirrorStatus) []string {
	var list []string
	for _, entry := range status.ConfigMaps {
		list = append(list, entry.Name)
	}
	return list
}

// TestMirrorStatusIsBounded: of too many, those that are synced are counted alone.
func TestMirrorStatusIsBounded(t *testing.T) {
	var sources []*Source
	for n := range maxEntries + 7 {
		sources = append(sources, onHub(configMap(fmt.Sprintf("a-%04d", n), one, revision("r"))))
	}
	missing := fmt.Sprintf("a-%04d", maxEntries+6)
	status := scope.MirrorStatus(Summary{}, sources, func(name string) *Copy {
		if name == missing {
			return nil
		}
		return onManaged(configMap(name, one, owned))
	}, nil, start)
	if len(status.ConfigMaps) != maxEntries || status.Omitted != 7 || status.ConfigMaps[0].Name != missing ||
		status.Total != maxEntries+7 || status.Synced != maxEntries+6 {
		t.Errorf("%d entries, %d omitted, the first is %s; %d of %d synced",
			len(status.ConfigMaps), status.Omitted, status.ConfigMaps[0].Name, status.Synced, status.Total)
	}
}

// TestMessageFitsTheCRD: a message is cut to the CRD's limit.
func TestMessageFitsTheCRD(t *testing.T) {
	source := onHub(configMap("a", two, revision("r1")))
	failed := Summary{Failed: []Failure{{Name: "a", Kind: Update, Reason: strings.Repeat("x", 257), want: wantedOf(source)}}}
	status := scope.MirrorStatus(failed, []*Source{source}, func(string) *Copy { return onManaged(configMap("a", one, owned)) }, nil, start)
	if got := status.ConfigMaps[0].Message; len(got) != 256 || !strings.HasSuffix(got, " …") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestSince: an entry keeps its time as long as its state and its revision stay.
func TestSince(t *testing.T) {
	before := []v1alpha1.MirroredConfigMap{{Name: "a", Revision: "r1", State: v1alpha1.MirrorSynced, Message: "m", Since: metav1.NewTime(start)}}
	now := start.Add(90*time.Second + 500*time.Millisecond)
	whole := start.Add(90 * time.Second)
	for _, test := range []struct {
		name, reason string
		entry        v1alpha1.MirroredConfigMap
		want         time.Time
	}{
		{"the same", "a rollout counts from it", v1alpha1.MirroredConfigMap{Name: "a", Revision: "r1", State: v1alpha1.MirrorSynced}, start},
		{"another revision", "the time was the former revision's", v1alpha1.MirroredConfigMap{Name: "a", Revision: "r2", State: v1alpha1.MirrorSynced}, whole},
		{"another state", "it is new", v1alpha1.MirroredConfigMap{Name: "a", Revision: "r1", State: v1alpha1.MirrorPending}, whole},
		{"another name", "it is new", v1alpha1.MirroredConfigMap{Name: "b", Revision: "r1", State: v1alpha1.MirrorSynced}, whole},
	} {
		entries := []v1alpha1.MirroredConfigMap{test.entry}
		setSince(entries, before, now)
		if !entries[0].Since.Time.Equal(test.want) {
			t.Errorf("%s: %s, want %s: %s", test.name, entries[0].Since, test.want, test.reason)
		}
	}
}

// TestSameStatus: every field counts, and of a time the moment alone.
func TestSameStatus(t *testing.T) {
	status := func(change func(*v1alpha1.ConfigMapMirrorStatus)) v1alpha1.ConfigMapMirrorStatus {
		s := v1alpha1.ConfigMapMirrorStatus{Total: 2, Synced: 1, Omitted: 3, ConfigMaps: []v1alpha1.MirroredConfigMap{
			{Name: "a", Revision: "r", State: "Failed", Message: "m", Since: metav1.NewTime(start)}}}
		change(&s)
		return s
	}
	same := status(func(*v1alpha1.ConfigMapMirrorStatus) {})
	for name, change := range map[string]func(*v1alpha1.ConfigMapMirrorStatus){
		"total":    func(s *v1alpha1.ConfigMapMirrorStatus) { s.Total++ },
		"synced":   func(s *v1alpha1.ConfigMapMirrorStatus) { s.Synced++ },
		"omitted":  func(s *v1alpha1.ConfigMapMirrorStatus) { s.Omitted++ },
		"none":     func(s *v1alpha1.ConfigMapMirrorStatus) { s.ConfigMaps = nil },
		"name":     func(s *v1alpha1.ConfigMapMirrorStatus) { s.ConfigMaps[0].Name = "b" },
		"revision": func(s *v1alpha1.ConfigMapMirrorStatus) { s.ConfigMaps[0].Revision = "" },
		"state":    func(s *v1alpha1.ConfigMapMirrorStatus) { s.ConfigMaps[0].State = "Pending" },
		"message":  func(s *v1alpha1.ConfigMapMirrorStatus) { s.ConfigMaps[0].Message = "" },
		"since": func(s *v1alpha1.ConfigMapMirrorStatus) {
			s.ConfigMaps[0].Since = metav1.NewTime(start.Add(time.Second))
		},
	} {
		if SameStatus(same, status(change)) {
			t.Errorf("another %s is not seen", name)
		}
	}
	elsewhere := status(func(s *v1alpha1.ConfigMapMirrorStatus) {
		s.ConfigMaps[0].Since = metav1.NewTime(start.In(time.FixedZone("elsewhere", 3600)))
	})
	if !SameStatus(same, elsewhere) {
		t.Error("the same moment in another zone is another status")
	}
}
