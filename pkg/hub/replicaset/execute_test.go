package replicaset

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

func TestUpdatePatch(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	yes := true
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", UID: "s"}}
	first := plan.Write{Action: plan.Create, Cluster: "cluster1", Name: "settings", Revision: "r1", Since: since}
	before := newConfigMap(set, first, render.Content{Data: map[string]string{"old": "1", "kept": "1"}, BinaryData: map[string][]byte{"b": {1}}}, nil)
	before.UID, before.ResourceVersion = "u", "7"
	before.Labels["team"], before.Annotations["note"] = "a", "of others"
	for _, test := range []struct {
		name, reason string
		content      render.Content
		want         func(*corev1.ConfigMap)
	}{
		{"other data", "a key that the content no longer has goes", render.Content{Data: map[string]string{"kept": "<2>"}},
			func(c *corev1.ConfigMap) { c.Data = map[string]string{"kept": "<2>"} }},
		{"nothing but binary data", "", render.Content{BinaryData: map[string][]byte{"c": {2}}},
			func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"c": {2}} }},
		{"immutable", "", render.Content{Data: map[string]string{"kept": "2"}, Immutable: true},
			func(c *corev1.ConfigMap) { c.Data, c.Immutable = map[string]string{"kept": "2"}, &yes }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := plan.Write{Action: plan.Update, Cluster: "cluster1", Name: "settings", UID: "u", ResourceVersion: "7", Revision: "r2", Since: since.Add(time.Hour)}
			patch, err := updatePatch(w, test.content)
			if err != nil {
				t.Fatal(err)
			}
			operations, err := jsonpatch.DecodePatch(patch)
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			if body, err = operations.Apply(body); err != nil {
				t.Fatal(err)
			}
			var got corev1.ConfigMap
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			want := before.DeepCopy()
			want.Data, want.BinaryData = nil, nil
			want.Annotations[manifests.RevisionAnnotation], want.Annotations[manifests.RevisionSinceAnnotation] = "r2", "2026-01-01T13:00:00Z"
			test.want(want)
			if diff := cmp.Diff(want, &got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if object := plan.NewObject(&got, ""); !object.Owned(set) {
				t.Errorf("the set does not own it any more: %+v", object)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, test := range []struct {
		name, reason string
		err          error
		want         bool
	}{
		{"no error", "", nil, false},
		{"forbidden", "no right, or a namespace that is being deleted", apierrors.NewForbidden(resource, "a", errors.New("no")), true},
		{"no namespace", "the cluster is gone", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "cluster1"), true},
		{"a webhook denies", "it may answer with any code", apierrors.NewBadRequest("denied the request"), true},
		{"a webhook cannot be called", "", apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		{"stale", "the next plan sees it", fmt.Errorf("%w: %w", errStale, apierrors.NewNotFound(resource, "a")), false},
		{"conflict", "the next plan sees it", apierrors.NewConflict(resource, "a", errors.New("modified")), false},
		{"busy", "it passes", apierrors.NewTooManyRequests("busy", 1), false},
		{"no connection", "the hub is away", errors.New("connection refused"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := refusal(test.err) != ""; got != test.want {
				t.Errorf("got %t: %s", got, test.reason)
			}
		})
	}
}

func TestJoined(t *testing.T) {
	broken := errors.New("broken")
	if err := joined(nil, errStale, broken); !errors.Is(err, broken) || errors.Is(err, errStale) {
		t.Errorf("an error beside a stale object: %v, want the error alone, so that it is logged", err)
	}
	if err := joined(nil, errStale); !errors.Is(err, errStale) {
		t.Errorf("a stale object alone: %v", err)
	}
	if err := joined(nil, nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}

func TestRevisionName(t *testing.T) {
	long := make([]byte, 253)
	for i := range long {
		long[i] = 'a'
	}
	long[226] = '.'
	for _, name := range []string{"settings", string(long)} {
		set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "01234567-89ab-cdef-0123-456789abcdef"}}
		other := set.DeepCopy()
		other.UID = "11234567-89ab-cdef-0123-456789abcdef"
		got := revisionName(set, "0123456789abcdef")
		if len(got) > 253 || got == revisionName(other, "0123456789abcdef") {
			t.Errorf("%s: %d characters, and the same as of a former set of this name: %s", got, len(got), revisionName(other, "0123456789abcdef"))
		}
		if name != "settings" && got[226-1:226+1] == ".-" {
			t.Errorf("%s is no name of an object", got)
		}
	}
}
