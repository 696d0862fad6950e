package reporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// policyRef names a policy.
func policyRef(name string) status.ObjectRef {
	return status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: name}
}

// from is a policy of the global hub that one cluster complies with; hour is when
// it was made on the leaf hub.
func from(name, id string, hour int, cluster string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"creationTimestamp":"2026-01-01T%02d:00:00Z",
"annotations":{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid":%q}},
"status":{"status":[{"clustername":%q,"compliant":"Compliant"}]}}`, name, hour, id, cluster)
}

// TestPlanPolicies: of several policies with one id the oldest alone counts.
func TestPlanPolicies(t *testing.T) {
	at := func(id string, hour int) origin {
		return origin{id: id, created: time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)}
	}
	says := func(cluster string) status.Batch {
		return status.Batch{CompletePolicies: []string{"g"},
			Compliance: []status.ComplianceEntry{{PolicyID: "g", Cluster: cluster, Compliance: "compliant"}}}
	}
	both := reported{policyRef("p"): at("g", 1), policyRef("copy"): at("g", 2)}
	for _, c := range []struct {
		name, why string
		before    reported
		objects   map[string]string
		want      status.Batch
		after     reported
		again     []status.ObjectRef
	}{
		{name: "a copy is made", why: "what the original says stays", before: reported{policyRef("p"): at("g", 1)},
			objects: map[string]string{"copy": from("copy", "g", 2, "b")}, after: both},
		{name: "both are read at once", why: "no row of the copy", objects: map[string]string{"copy": from("copy", "g", 2, "b"), "p": from("p", "g", 1, "a")},
			want: says("a"), after: both},
		{name: "the copy is read first", why: "it is all that is known", objects: map[string]string{"copy": from("copy", "g", 2, "b")},
			want: says("b"), after: reported{policyRef("copy"): at("g", 2)}},
		{name: "the original is read after it", why: "it is older", before: reported{policyRef("copy"): at("g", 2)},
			objects: map[string]string{"p": from("p", "g", 1, "a")}, want: says("a"), after: both},
		{name: "of one age", why: "the first by name, whoever comes first", before: reported{policyRef("p"): at("g", 1)},
			objects: map[string]string{"a": from("a", "g", 1, "b")}, want: says("b"), after: reported{policyRef("a"): at("g", 1), policyRef("p"): at("g", 1)}},
		{name: "the copy goes", why: "the original's rows stay", before: both, objects: map[string]string{"copy": ""},
			after: reported{policyRef("p"): at("g", 1)}},
		{name: "the original goes", why: "the copy is what there is, and is written anew", before: both, objects: map[string]string{"p": ""},
			after: reported{policyRef("copy"): at("g", 2)}, again: []status.ObjectRef{policyRef("copy")}},
		{name: "the original gets another id", why: "the copy is what there is of the first one", before: both,
			objects: map[string]string{"p": from("p", "h", 1, "a")},
			want: status.Batch{CompletePolicies: []string{"h"},
				Compliance: []status.ComplianceEntry{{PolicyID: "h", Cluster: "a", Compliance: "compliant"}}},
			after: reported{policyRef("p"): at("h", 1), policyRef("copy"): at("g", 2)}, again: []status.ObjectRef{policyRef("copy")}},
		{name: "both go", why: "the rows go", before: both, objects: map[string]string{"p": "", "copy": ""},
			want: status.Batch{CompletePolicies: []string{"g"}}, after: reported{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []observed
			for _, name := range []string{"a", "copy", "p"} {
				text, found := c.objects[name]
				if !found {
					continue
				}
				o := observed{ref: policyRef(name)}
				if text != "" {
					o.object = object(t, text)
				}
				all = append(all, o)
			}
			batch, after, again := planBatch(all, c.before)
			for i, pair := range [][2]any{{c.want, batch}, {c.after, after}, {c.again, again}} {
				if diff := cmp.Diff(pair[0], pair[1], origins); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", c.why, []string{"batch", "reported", "again"}[i], diff)
				}
			}
		})
	}
}

// TestCopiedPolicy: whatever becomes of a copy, the rows are the original's as
// long as that is there.
func TestCopiedPolicy(t *testing.T) {
	l := newLeaf(t)
	is := func(when string, want map[string]string) {
		t.Helper()
		l.turns()
		if diff := cmp.Diff(want, l.database.rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	original, copied := map[string]string{"Policy g a": "compliant"}, map[string]string{"Policy g b": "compliant"}
	l.has(status.KindPolicy, from("p", "g", 1, "a"))
	is("the original", original)
	l.has(status.KindPolicy, from("copy", "g", 2, "b"))
	is("with a copy", original)
	l.goes(policyRef("copy"))
	is("without it", original)
	l.has(status.KindPolicy, from("copy", "g", 2, "b"))
	is("with a copy again", original)
	l.goes(policyRef("p"))
	is("the copy alone", copied)
	l.goes(policyRef("copy"))
	is("neither", map[string]string{})
}
