package reporter

import (
	"cmp"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// origin is which of the global hub's policies a policy comes from.
type origin struct {
	id      string
	created time.Time
}

// reported are the policies that were looked at and come from the global hub: the
// rows of one that is gone have nothing else to know it by.
type reported map[status.ObjectRef]origin

// planPolicies adds to a batch what policies say. Whoever copies a policy copies
// the annotation, too: of several policies with one id only the oldest is
// reported. If that becomes one that is not among the observed, it has to be
// looked at again.
func planPolicies(batch *status.Batch, all []observed, before reported) (after reported, again []status.ObjectRef) {
	after = reported{}
	maps.Copy(after, before)
	objects := map[status.ObjectRef]*unstructured.Unstructured{}
	var ids []string // whose rows may change, each once
	touched := map[string]bool{}
	touch := func(id string) {
		if !touched[id] {
			touched[id] = true
			ids = append(ids, id)
		}
	}
	for _, o := range all {
		if old, found := after[o.ref]; found {
			touch(old.id)
		}
		delete(after, o.ref)
		if o.object == nil {
			continue
		}
		if id, wanted := idOf(o.ref.Kind, o.object); wanted {
			after[o.ref] = origin{id: id, created: o.object.GetCreationTimestamp().Time}
			objects[o.ref] = o.object
			touch(id)
		}
	}
	if len(ids) == 0 {
		return after, nil // most batches say nothing of policies, and there may be thousands
	}
	was, is := oldest(before), oldest(after)
	for _, id := range ids {
		ref, found := is[id]
		object, seen := objects[ref]
		switch {
		case !found:
			batch.CompletePolicies = append(batch.CompletePolicies, id)
		case seen:
			batch.CompletePolicies = append(batch.CompletePolicies, id)
			batch.Compliance = append(batch.Compliance, complianceOf(id, object)...)
		case was[id] != ref:
			again = append(again, ref)
		}
	}
	return after, again
}

// oldest are the policies that count, by id: of several of one age the first by
// name.
func oldest(all reported) map[string]status.ObjectRef {
	first := map[string]status.ObjectRef{}
	for ref, origin := range all {
		held, found := first[origin.id]
		if !found || cmp.Or(origin.created.Compare(all[held].created), compareRefs(ref, held)) < 0 {
			first[origin.id] = ref
		}
	}
	return first
}

// complianceOf are a policy's clusters. What is neither Compliant nor
// NonCompliant, such as Pending, the database calls unknown.
func complianceOf(id string, policy *unstructured.Unstructured) []status.ComplianceEntry {
	clusters, _, _ := unstructured.NestedSlice(policy.Object, "status", "status")
	entries := make([]status.ComplianceEntry, 0, len(clusters))
	for _, item := range clusters {
		cluster, ok := item.(map[string]any)
		if !ok {
			continue
		}
		name, _ := cluster["clustername"].(string)
		if name == "" {
			continue
		}
		compliance := map[any]string{"Compliant": "compliant", "NonCompliant": "non_compliant"}[cluster["compliant"]]
		entries = append(entries, status.ComplianceEntry{PolicyID: id, Cluster: name, Compliance: cmp.Or(compliance, "unknown")})
	}
	return entries
}
