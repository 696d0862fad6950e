package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNewBatch(t *testing.T) {
	policy := status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: "p"}
	rule := status.ObjectRef{Kind: status.KindPlacementRule, Namespace: "ns", Name: "r"}
	decision := status.ObjectRef{Kind: status.KindPlacementDecision, Namespace: "ns", Name: "d"}
	addOn := status.ObjectRef{Kind: status.KindManagedClusterAddOn, Namespace: "cluster1", Name: "helloworld"}
	cluster := status.ObjectRef{Kind: status.KindManagedCluster, Name: "cluster1"}
	const origin = `"annotations":{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid":"global"}`
	clusters := `"status":{"status":[{"clustername":"a","compliant":"Compliant"},{"clustername":"b","compliant":"NonCompliant"},
{"clustername":"c","compliant":"Pending"},{"clustername":"d"},{"compliant":"Compliant"},7]}`
	for _, c := range []struct {
		name, why string
		ref       status.ObjectRef
		object    string
		before    Reported
		want      status.Batch
		after     Reported
	}{
		{name: "a policy of the global hub", why: "its clusters, by the global hub's uid; what is neither is unknown",
			ref: policy, object: `{"metadata":{"uid":"u",` + origin + `},` + clusters + `}`,
			want: status.Batch{CompletePolicies: []string{"global"}, Compliance: []status.ComplianceEntry{
				{PolicyID: "global", Cluster: "a", Compliance: "compliant"}, {PolicyID: "global", Cluster: "b", Compliance: "non_compliant"},
				{PolicyID: "global", Cluster: "c", Compliance: "unknown"}, {PolicyID: "global", Cluster: "d", Compliance: "unknown"}}},
			after: Reported{policy: {ID: "global"}}},
		{name: "an id in capitals", why: "the database has it in small letters", ref: policy, before: Reported{policy: {ID: "global"}},
			object: `{"metadata":{"annotations":{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid":"GLOBAL"}}}`,
			want:   status.Batch{CompletePolicies: []string{"global"}}, after: Reported{policy: {ID: "global"}}},
		{name: "a policy of the leaf hub", why: "the global hub does not know it", ref: policy, object: `{"metadata":{"uid":"u"},` + clusters + `}`, after: Reported{}},
		{name: "a copy for a cluster", why: "it has the annotations of the policy that it is a copy of", ref: policy,
			object: `{"metadata":{"labels":{"policy.open-cluster-management.io/root-policy":"ns.p"},` + origin + `}}`, after: Reported{}},
		{name: "a policy that went", why: "its rows go under the id that it had", ref: policy, before: Reported{policy: {ID: "global"}},
			want: status.Batch{CompletePolicies: []string{"global"}}, after: Reported{}},
		{name: "an unknown policy", why: "there is nothing to remove", ref: policy, after: Reported{}},
		{name: "a policy with another id", why: "nothing may stay under the old one", ref: policy, before: Reported{policy: {ID: "old"}},
			object: `{"metadata":{` + origin + `}}`, want: status.Batch{CompletePolicies: []string{"old", "global"}}, after: Reported{policy: {ID: "global"}}},
		{name: "a rule of the global hub", why: "the whole object, by the global hub's uid", ref: rule, object: `{"metadata":{` + origin + `}}`,
			want:  status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacementRule, ID: "global", Payload: []byte(`{"metadata":{` + origin + `}}`)}}},
			after: Reported{}},
		{name: "a rule of the leaf hub", why: "the global hub does not know it, and no longer if it did", ref: rule, object: `{"metadata":{"uid":"u"}}`,
			want: status.Batch{Removed: []status.ObjectRef{rule}}, after: Reported{}},
		{name: "a decision", why: "made on the leaf hub, it has an id of its own", ref: decision, object: `{"metadata":{"uid":"u"}}`,
			want:  status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacementDecision, ID: "u", Payload: []byte(`{"metadata":{"uid":"u"}}`)}}},
			after: Reported{}},
		{name: "the add-on", why: "ours is reported", ref: addOn, object: `{"metadata":{"name":"helloworld","uid":"u"}}`,
			want:  status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindManagedClusterAddOn, ID: "u", Payload: []byte(`{"metadata":{"name":"helloworld","uid":"u"}}`)}}},
			after: Reported{}},
		{name: "another add-on", why: "it is not ours to report", ref: addOn, object: `{"metadata":{"name":"other","uid":"u"}}`,
			want: status.Batch{Removed: []status.ObjectRef{addOn}}, after: Reported{}},
		{name: "a cluster that is away", why: "its leaf hub has not heard of it", ref: cluster,
			object: `{"metadata":{"uid":"u"},"status":{"conditions":[{"status":"Unknown","type":"ManagedClusterConditionAvailable"}]}}`,
			want: status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindManagedCluster, ID: "u", Error: "disconnected",
				Payload: []byte(`{"metadata":{"uid":"u"},"status":{"conditions":[{"status":"Unknown","type":"ManagedClusterConditionAvailable"}]}}`)}}},
			after: Reported{}},
		{name: "an object that went", why: "its row goes", ref: rule, want: status.Batch{Removed: []status.ObjectRef{rule}}, after: Reported{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Observed{Ref: c.ref}
			if c.object != "" {
				o.Object = object(t, c.object)
			}
			if c.object != "" && c.ref.Kind != status.KindPolicy {
				o.Payload = []byte(c.object)
			}
			got, after, again := NewBatch([]Observed{o}, c.before)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if diff := cmp.Diff(c.after, after); diff != "" {
				t.Errorf("reported after it (-want +got):\n%s", diff)
			}
			if len(again) > 0 {
				t.Errorf("%v is looked at again", again)
			}
		})
	}
}

func TestSize(t *testing.T) {
	clusters := Observed{Ref: status.ObjectRef{Kind: status.KindPolicy}, Object: object(t, `{"status":{"status":[{},{}]}}`)}
	for _, c := range []struct {
		name string
		one  Observed
		most int
	}{
		{"objects that went", Observed{Ref: status.ObjectRef{Kind: status.KindPlacement}}, MaxObjects},
		{"policies of two clusters", clusters, MaxObjects},
		{"large objects", Observed{Ref: status.ObjectRef{Kind: status.KindPlacement}, Payload: make([]byte, 1<<20)}, MaxBytes >> 20},
		{"policies of many clusters", Observed{Ref: clusters.Ref, Object: &unstructured.Unstructured{Object: map[string]any{
			"status": map[string]any{"status": make([]any, MaxClusters/4)}}}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Size
			got := 0
			for ; !s.Full(); got++ {
				s.Add(c.one)
			}
			if got != c.most {
				t.Errorf("full after %d, not %d", got, c.most)
			}
		})
	}
}
