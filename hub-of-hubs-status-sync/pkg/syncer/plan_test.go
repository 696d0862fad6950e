package syncer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func desire(name string, value any) status.Desired {
	return status.Desired{Name: name, Labels: map[string]string{"l": "v"}, Fields: []status.Field{
		{Path: []string{"status", "a"}, Value: value}, {Path: []string{"status", "b"}}}}
}

func have(name string, content map[string]any) present {
	return present{object: object{UID: types.UID(name), Name: name, Labels: map[string]string{"l": "v", "other": "stays"}}, Content: content}
}

func TestPlan(t *testing.T) {
	same := map[string]any{"status": map[string]any{"a": "1", "foreign": "stays"}}
	creating := status.Entry{Creates: true, Subresource: true}
	deleting := have("x", nil)
	deleting.Deleting = true
	known := have("x", nil)
	known.Digest = digestOf(desire("x", "1").Fields)
	stale := have("x", same)
	stale.Annotations = map[string]string{status.AnnotationStale: "hub1"}
	foreign := have("x", same)
	foreign.Annotations = map[string]string{"somebody": "else's"}
	unlabelled, labelled := have("x", same), have("x", same)
	unlabelled.Labels, labelled.Labels = nil, map[string]string{"l": "another"}
	noted := desire("x", "1")
	noted.Annotations = map[string]string{status.AnnotationSummarised: ""}
	for _, c := range []struct {
		name    string
		entry   status.Entry
		present []present
		desired []status.Desired
		want    []string
	}{
		{"equal by content: nothing", creating, []present{have("x", same)}, []status.Desired{desire("x", "1")}, nil},
		{"equal by what was written: nothing", creating, []present{known}, []status.Desired{desire("x", "1")}, nil},
		{"another value", creating, []present{have("x", same)}, []status.Desired{desire("x", "2")}, []string{"update x fields"}},
		{"a field that must be absent", creating, []present{have("x", map[string]any{"status": map[string]any{"a": "1", "b": "2"}})},
			[]status.Desired{desire("x", "1")}, []string{"update x fields"}},
		{"an annotation that must be absent", creating, []present{stale}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"an annotation without text that must be there", creating, []present{have("x", same)}, []status.Desired{noted}, []string{"update x meta"}},
		{"an annotation of somebody else's", creating, []present{foreign}, []status.Desired{desire("x", "1")}, nil},
		{"a label that must be there", creating, []present{unlabelled}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"a label with another value", creating, []present{labelled}, []status.Desired{desire("x", "1")}, []string{"update x meta"}},
		{"labels of a kind that is not created are its user's", status.Entry{}, []present{unlabelled}, []status.Desired{desire("x", "1")}, nil},
		{"being deleted, no longer wanted", creating, []present{deleting}, nil, nil},
		{"missing", creating, nil, []status.Desired{desire("x", "1")}, []string{"create x"}},
		{"missing, of a kind that is not created", status.Entry{}, nil, []status.Desired{desire("x", "1")}, nil},
		{"no longer wanted", creating, []present{have("x", same), have("y", same)}, []status.Desired{desire("x", "1")}, []string{"delete y"}},
		{"not wanted, of a kind that is not created", status.Entry{}, []present{have("y", same)}, nil, nil},
		{"being deleted", creating, []present{deleting}, []status.Desired{desire("x", "1")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, a := range plan(c.entry, c.present, c.desired) {
				name := a.Present.Name
				if name == "" {
					name = a.Desired.Name
				}
				text := string(a.Verb) + " " + name
				if a.Verb == update && a.Fields {
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
	data, err := mergePatch(object{UID: "u", ResourceVersion: "7"}, tree(desire("x", "1").Fields, true))
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

// TestMetadataPatch: what is ours and no longer said goes, and nothing else is
// touched.
func TestMetadataPatch(t *testing.T) {
	desired := desire("x", "1")
	desired.Annotations = map[string]string{status.AnnotationStale: "hub1"}
	want := map[string]any{"labels": map[string]any{"l": "v"},
		"annotations": map[string]any{status.AnnotationStale: "hub1", status.AnnotationSummarised: nil}}
	if diff := cmp.Diff(want, metadataPatch(desired)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStaleHubs(t *testing.T) {
	now := time.Unix(1000, 0)
	heartbeats := status.Heartbeats{Now: now, Last: map[string]time.Time{
		"fresh": now.Add(-time.Second), "edge": now.Add(-time.Minute), "old": now.Add(-time.Minute - 1), "ahead": now.Add(time.Hour)}}
	got := staleHubs(heartbeats, time.Minute)
	if diff := cmp.Diff(map[string]time.Time{"old": now.Add(-time.Minute - 1)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		started time.Time
		want    int
	}{
		"the database was away, and the hubs have had no time to beat": {now.Add(-time.Minute), 0},
		"the hubs have had time to beat since its start":               {now.Add(-time.Minute - 1), 1},
		"its start is not known":                                       {time.Time{}, 1},
	} {
		heartbeats.Started = c.started
		if got := staleHubs(heartbeats, time.Minute); len(got) != c.want {
			t.Errorf("%s: stale are %v, want %d", name, got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"came", "moved", "went"}, changedHubs(
		map[string]time.Time{"went": now, "moved": now, "same": now},
		map[string]time.Time{"came": now, "moved": now.Add(1), "same": now})); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// TestScanShare: every key is looked at once in a period, however few there are.
func TestScanShare(t *testing.T) {
	for _, total := range []int{0, 1, 7, 100, 100_000} {
		sum, carry := 0, 0.0
		var share int
		for range 720 { // an hour of 5 s
			share, carry = scanShare(total, 5*time.Second, time.Hour, carry)
			sum += share
		}
		if sum < total-1 || sum > total {
			t.Errorf("of %d keys %d are looked at in a period", total, sum)
		}
	}
}
