package floor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func object(name, value string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7"},
		Data:       map[string]string{"mark": value},
	}
}

func TestPlan(t *testing.T) {
	cases := []struct {
		name, why       string
		sources, copies []corev1.ConfigMap
		want            map[string]string // name → value to write, "" to delete
	}{
		{name: "new", why: "a source without a copy is copied",
			sources: []corev1.ConfigMap{object("a", "1")}, want: map[string]string{"a": "1"}},
		{name: "same", why: "an equal copy is left, or a restart would cost more than the floor",
			sources: []corev1.ConfigMap{object("a", "1")}, copies: []corev1.ConfigMap{object("a", "1")}, want: map[string]string{}},
		{name: "changed", why: "what changed while it was down is caught up",
			sources: []corev1.ConfigMap{object("a", "2")}, copies: []corev1.ConfigMap{object("a", "1")}, want: map[string]string{"a": "2"}},
		{name: "gone", why: "what was deleted while it was down goes",
			copies: []corev1.ConfigMap{object("a", "1")}, want: map[string]string{"a": ""}},
		{name: "excluded", why: "Kubernetes' own ConfigMap is in every namespace",
			sources: []corev1.ConfigMap{object(excluded, "1")}, want: map[string]string{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			known, changes := plan(c.sources, c.copies)
			got := map[string]string{}
			for _, change := range changes {
				got[change.name] = ""
				if change.source != nil {
					got[change.name] = change.source.Data["mark"]
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			for i := range c.copies {
				if known[c.copies[i].Name] != versionOf(&c.copies[i]) {
					t.Errorf("version of the copy %s: got %v", c.copies[i].Name, known[c.copies[i].Name])
				}
			}
		})
	}
}

func TestCopyOfCarriesTheVersion(t *testing.T) {
	source := object("a", "2")
	got := copyOf(&source, "there", version{uid: "u", resourceVersion: "9"})
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "there", UID: "u", ResourceVersion: "9",
			Labels: map[string]string{ownerLabel: owner}},
		Data: map[string]string{"mark": "2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
}
