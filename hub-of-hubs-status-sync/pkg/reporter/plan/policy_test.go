package plan

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
	at := func(id string, hour int) Origin {
		return Origin{ID: id, Created: time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)}
	}
	says := func(cluster string) status.Batch {
		return status.Batch{CompletePolicies: []string{"g"},
			Compliance: []status.ComplianceEntry{{PolicyID: "g", Cluster: cluster, Compliance: "compliant"}}}
	}
	both := Reported{policyRef("p"): at("g", 1), policyRef("copy"): at("g", 2)}
	for _, c := range []struct {
		name, why string
		before    Reported
		objects   map[string]string
		want      status.Batch
		after     Reported
		again     []status.ObjectRef
	}{
		{name: "a copy is made", why: "what the original says stays", before: Reported{policyRef("p"): at("g", 1)},
			objects: map[string]string{"copy": from("copy", "g", 2, "b")}, after: both},
		{name: "both are read at once", why: "no row of the copy", objects: map[string]string{"copy": from("copy", "g", 2, "b"), "p": from("p", "g", 1, "a")},
			want: says("a"), after: both},
		{name: "the copy is read first", why: "it is all that is known", objects: map[string]string{"copy": from("copy", "g", 2, "b")},
			want: says("b"), after: Reported{policyRef("copy"): at("g", 2)}},
		{name: "the original is read after it", why: "it is older", before: Reported{policyRef("copy"): at("g", 2)},
			objects: map[string]string{"p": from("p", "g", 1, "a")}, want: says("a"), after: both},
		{name: "of one age", why: "the first by name, in either order", before: Reported{policyRef("p"): at("g", 1)},
			objects: map[string]string{"a": from("a", "g", 1, "b")}, want: says("b"), after: Reported{policyRef("a"): at("g", 1), policyRef("p"): at("g", 1)}},
		{name: "the copy goes", why: "the original's rows stay", before: both, objects: map[string]string{"copy": ""},
			after: Reported{policyRef("p"): at("g", 1)}},
		{name: "the original goes", why: "the copy is what there is, and is written anew", before: both, objects: map[string]string{"p": ""},
			after: Reported{policyRef("copy"): at("g", 2)}, again: []status.ObjectRef{policyRef("copy")}},
		{name: "the original gets another id", why: "the copy is what there is of the first one", before: both,
			objects: map[string]string{"p": from("p", "h", 1, "a")},
			want: status.Batch{CompletePolicies: []string{"h"},
				Compliance: []status.ComplianceEntry{{PolicyID: "h", Cluster: "a", Compliance: "compliant"}}},
			after: Reported{policyRef("p"): at("h", 1), policyRef("copy"): at("g", 2)}, again: []status.ObjectRef{policyRef("copy")}},
		{name: "both go", why: "the rows go", before: both, objects: map[string]string{"p": "", "copy": ""},
			want: status.Batch{CompletePolicies: []string{"g"}}, after: Reported{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []Observed
			for _, name := range []string{"a", "copy", "p"} {
				text, found := c.objects[name]
				if !found {
					continue
				}
				o := Observed{Ref: policyRef(name)}
				if text != "" {
					o.Object = object(t, text)
				}
				all = append(all, o)
			}
			batch, after, again := NewBatch(all, c.before)
			for i, pair := range [][2]any{{c.want, batch}, {c.after, after}, {c.again, again}} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", c.why, []string{"batch", "reported", "again"}[i], diff)
				}
			}
		})
	}
}
