package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func desire(name string, value any) status.Desired {
	return status.Desired{Name: name, Labels: map[string]string{"l": "v"}, Fields: []status.Field{
		{Path: []string{"status", "a"}, Value: value}, {Path: []string{"status", "b"}}}}
}

func have(name string, content map[string]any) Present {
	return Present{Object: Object{UID: types.UID(name), Name: name, Labels: map[string]string{"l": "v", "other": "stays"}}, Content: content}
}

func TestPlan(t *testing.T) {
	same := map[string]any{"status": map[string]any{"a": "1", "foreign": "stays"}}
	creating := status.Entry{Creates: true, Subresource: true}
	deleting := have("x", nil)
	deleting.Deleting = true
	known := have("x", nil)
	known.Digest = Digest(desire("x", "1").Fields)
	stale := have("x", same)
	stale.Annotations = map[string]string{status.AnnotationStale: "hub1"}
	foreign := have("x", same)
	foreign.Annotations = map[string]string{"another": "writer"}
	unlabelled, labelled := have("x", same), have("x", same)
	unlabelled.Labels, labelled.Labels = nil, map[string]string{"l": "another"}
	noted := desire("x", "1")
	noted.Annotations = map[string]string{status.AnnotationSummarised: ""}
	for _, c := range []struct {
		name    string
		entry   status.Entry
		present []Present
		desired []status.Desired
		want    []string
	}{
		{"equal by content: nothing", creating, []Present{have("x", same)}, []status.Desired{desire("x", "1")}, nil},
		{"equal by what was written: nothing", creating, []Present{known}, []status.Desired{desire("x", "1")}, nil},
		{"another value", creating, []Present{have("x", same)}, []status.Desired{desire("x", "2")}, []string{"update x fields"}},
		{"a field that must be absent", creating, []Present{have("x", map[string]any{"status": map[string]any{"a": "1", "b": "2"}})},
			[]status.Desired{desire("x", "1")}, []string{"update x fields"}},
		{"an annotation that must be absent", creating, []Present{stale}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"an annotation without text that must be there", creating, []Present{have("x", same)}, []status.Desired{noted}, []string{"update x meta"}},
		{"an annotation of another writer", creating, []Present{foreign}, []status.Desired{desire("x", "1")}, nil},
		{"a label that must be there", creating, []Present{unlabelled}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"a label with another value", creating, []Present{labelled}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"labels of a kind that the sync does not create belong to its users", status.Entry{}, []Present{unlabelled}, []status.Desired{desire("x", "1")}, nil},
		{"being deleted, no longer wanted", creating, []Present{deleting}, nil, nil},
		{"missing", creating, nil, []status.Desired{desire("x", "1")}, []string{"create x"}},
		{"missing, of a kind that is not created", status.Entry{}, nil, []status.Desired{desire("x", "1")}, nil},
		{"no longer wanted", creating, []Present{have("x", same), have("y", same)}, []status.Desired{desire("x", "1")}, []string{"delete y"}},
		{"not wanted, of a kind that is not created", status.Entry{}, []Present{have("y", same)}, nil, nil},
		{"being deleted", creating, []Present{deleting}, []status.Desired{desire("x", "1")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, a := range Plan(c.entry, c.present, c.desired) {
				text := string(a.Verb) + " " + a.Name()
				if a.Verb == Update && a.Fields {
					text += " fields"
				}
				if a.Meta {
					text += " meta"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergePatch(t *testing.T) {
	data, err := MergePatch(Object{UID: "u", ResourceVersion: "7"}, PatchContent(desire("x", "1").Fields))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"uid": "u", "resourceVersion": "7"}, "status": map[string]any{"a": "1", "b": nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMetadataPatch: own annotations that are not desired are removed, and others
// are not changed.
func TestMetadataPatch(t *testing.T) {
	desired := desire("x", "1")
	desired.Annotations = map[string]string{status.AnnotationStale: "hub1"}
	want := map[string]any{"labels": map[string]any{"l": "v"},
		"annotations": map[string]any{status.AnnotationStale: "hub1", status.AnnotationSummarised: nil}}
	if diff := cmp.Diff(want, MetadataPatch(desired)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
