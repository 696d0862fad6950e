package reporter

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// AnnotationOrigin is on an object that comes from the global hub: its uid there.
// The hub of hubs' spec sync puts it there.
const AnnotationOrigin = "hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid"

// labelRootPolicy is on the copies of a policy that the policy propagator makes
// for each cluster. They have the policy's annotations, and are not reported.
const labelRootPolicy = "policy.open-cluster-management.io/root-policy"

// fromGlobalHub are the kinds that are reported only if they come from the global
// hub; others are made on the leaf hub and have an id of their own.
var fromGlobalHub = map[status.Kind]bool{
	status.KindPolicy: true, status.KindPlacementRule: true, status.KindPlacement: true,
}

// idOf is the id that an object's rows have, and whether it is reported at all.
func idOf(kind status.Kind, object *unstructured.Unstructured) (string, bool) {
	if kind == status.KindManagedClusterAddOn && object.GetName() != manifests.AddonName {
		return "", false
	}
	if _, copied := object.GetLabels()[labelRootPolicy]; kind == status.KindPolicy && copied {
		return "", false
	}
	// The database has uuids in lower case, and compares what is with what it has.
	if origin := object.GetAnnotations()[AnnotationOrigin]; origin != "" {
		return strings.ToLower(origin), true
	}
	return string(object.GetUID()), !fromGlobalHub[kind]
}

// observed is an object as it is when a batch is made; nil: it is not there.
type observed struct {
	ref    status.ObjectRef
	object *unstructured.Unstructured
	// payload is the object as JSON, of all kinds but Policy.
	payload []byte
}

// A batch has about so many objects, clusters of policies, and bytes of payload
// at most: enough to be fast, and not so many that one transaction, or one
// statement's memory, holds up others.
const batchObjects, batchClusters, batchBytes = 2000, 20000, 8 << 20

// size is how much a batch says.
type size struct{ objects, clusters, bytes int }

func (s *size) add(o observed) {
	s.objects++
	s.bytes += len(o.payload)
	if o.object != nil && o.ref.Kind == status.KindPolicy {
		list, _, _ := unstructured.NestedFieldNoCopy(o.object.Object, "status", "status")
		clusters, _ := list.([]any)
		s.clusters += len(clusters)
	}
}

// full reports whether a batch ends.
func (s *size) full() bool {
	return s.objects >= batchObjects || s.clusters >= batchClusters || s.bytes >= batchBytes
}

// planBatch makes the batch that says what the objects are now, what is reported
// after it, and which policies have to be looked at again because of it.
func planBatch(all []observed, before reported) (batch status.Batch, after reported, again []status.ObjectRef) {
	var policies []observed
	for _, o := range all {
		if o.ref.Kind == status.KindPolicy {
			policies = append(policies, o)
			continue
		}
		id, wanted := "", false
		if o.object != nil {
			id, wanted = idOf(o.ref.Kind, o.object)
		}
		if !wanted {
			batch.Removed = append(batch.Removed, o.ref)
			continue
		}
		batch.Objects = append(batch.Objects, status.ObjectEntry{Kind: o.ref.Kind, ID: id, Payload: o.payload,
			Error: availability(o.ref.Kind, o.object)})
	}
	after, again = planPolicies(&batch, policies, before)
	return batch, after, again
}

// availability is 'disconnected' for a managed cluster that the leaf hub has not
// heard of for too long.
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

// empty reports whether a batch says nothing.
func empty(batch status.Batch) bool {
	return len(batch.Compliance)+len(batch.CompletePolicies)+len(batch.Objects)+len(batch.Removed) == 0
}

// compareRefs puts names into one order, so that equal work is done equally.
func compareRefs(a, b status.ObjectRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
