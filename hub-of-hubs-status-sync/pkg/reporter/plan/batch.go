package plan

import (
	"cmp"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Observed is an object as it is when a batch is planned. Object is nil if the
// object does not exist.
type Observed struct {
	Ref    status.ObjectRef
	Object *unstructured.Unstructured
	// Payload is the object as JSON, except for a Policy.
	Payload []byte
}

// The limits of a batch: objects, clusters of policies, and bytes of payload. One
// batch is one transaction: smaller batches are slower, larger ones block other
// transactions and need more memory.
const MaxObjects, MaxClusters, MaxBytes = 2000, 20000, 8 << 20

// Size is the size of a batch.
type Size struct{ objects, clusters, bytes int }

// Add adds an object.
func (s *Size) Add(o Observed) {
	s.objects++
	s.bytes += len(o.Payload)
	if o.Object != nil && o.Ref.Kind == status.KindPolicy {
		list, _, _ := unstructured.NestedFieldNoCopy(o.Object.Object, "status", "status")
		clusters, _ := list.([]any)
		s.clusters += len(clusters)
	}
}

// Full reports whether the batch has reached a limit.
func (s *Size) Full() bool {
	return s.objects >= MaxObjects || s.clusters >= MaxClusters || s.bytes >= MaxBytes
}

// Empty reports whether a batch changes nothing.
func Empty(batch status.Batch) bool {
	return len(batch.Compliance)+len(batch.CompletePolicies)+len(batch.Objects)+len(batch.Removed) == 0
}

// NewBatch returns the batch that reports the observed objects, the reported
// policies after it, and the policies that have to be observed and reported again
// because of it.
func NewBatch(all []Observed, before Reported) (batch status.Batch, after Reported, again []status.ObjectRef) {
	var policies []Observed
	for _, o := range all {
		if o.Ref.Kind == status.KindPolicy {
			policies = append(policies, o)
			continue
		}
		id, reported := "", false
		if o.Object != nil {
			id, reported = IDOf(o.Ref.Kind, o.Object)
		}
		if !reported {
			batch.Removed = append(batch.Removed, o.Ref)
			continue
		}
		batch.Objects = append(batch.Objects, status.ObjectEntry{Kind: o.Ref.Kind, ID: id, Payload: o.Payload,
			Error: availability(o.Ref.Kind, o.Object)})
	}
	after, again = addPolicies(&batch, policies, before)
	return batch, after, again
}

// availability returns "disconnected" for a managed cluster whose availability is
// unknown to the leaf hub, because its lease is too old.
func availability(kind status.Kind, object *unstructured.Unstructured) string {
	if kind != status.KindManagedCluster {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == "ManagedClusterConditionAvailable" && condition["status"] == "Unknown" {
			return "disconnected"
		}
	}
	return ""
}

// Origin identifies the policy of the global hub that a policy comes from.
type Origin struct {
	ID      string
	Created time.Time
}

// Reported are the observed policies that come from the global hub. When one is
// deleted, its entry is the only source of the id of its rows.
type Reported map[status.ObjectRef]Origin

// addPolicies adds policies to a batch. A user who copies a policy also copies its
// origin annotation: of several policies with one id only the oldest is reported.
// If that becomes one that is not among the observed policies, it is returned in
// again.
func addPolicies(batch *status.Batch, all []Observed, before Reported) (after Reported, again []status.ObjectRef) {
	after = Reported{}
	maps.Copy(after, before)
	objects := map[status.ObjectRef]*unstructured.Unstructured{}
	var ids []string // the ids whose rows may change, each once
	touched := map[string]bool{}
	touch := func(id string) {
		if !touched[id] {
			touched[id] = true
			ids = append(ids, id)
		}
	}
	for _, o := range all {
		if old, found := after[o.Ref]; found {
			touch(old.ID)
		}
		delete(after, o.Ref)
		if o.Object == nil {
			continue
		}
		if id, reported := IDOf(o.Ref.Kind, o.Object); reported {
			after[o.Ref] = Origin{ID: id, Created: o.Object.GetCreationTimestamp().Time}
			objects[o.Ref] = o.Object
			touch(id)
		}
	}
	if len(ids) == 0 {
		return after, nil // most batches have no policies, while thousands may be reported
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

// oldest returns the oldest policy of each id; of several of one age the first by
// name.
func oldest(all Reported) map[string]status.ObjectRef {
	first := map[string]status.ObjectRef{}
	for ref, origin := range all {
		held, found := first[origin.ID]
		if !found || cmp.Or(origin.Created.Compare(all[held].Created), CompareRefs(ref, held)) < 0 {
			first[origin.ID] = ref
		}
	}
	return first
}

// complianceOf returns the entries of a policy's clusters. The database has no
// value for Pending and other states: they are unknown.
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
