// Package plan holds the decisions of the status report as pure functions: which
// objects are reported and as what (IDOf, Trim), the batch that reports them
// (NewBatch), when which kinds are compared with the database (DueKinds,
// NextCompare), and the batches that remove what is gone (Gone). Package reporter
// reads the input and carries out the result.
package plan

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Kinds are the reported kinds.
var Kinds = map[status.Kind]schema.GroupVersionKind{
	status.KindPolicy:              {Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"},
	status.KindPlacementRule:       {Group: "apps.open-cluster-management.io", Version: "v1", Kind: "PlacementRule"},
	status.KindPlacement:           {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"},
	status.KindPlacementDecision:   {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "PlacementDecision"},
	status.KindSubscriptionStatus:  {Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionStatus"},
	status.KindSubscriptionReport:  {Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionReport"},
	status.KindManagedClusterAddOn: {Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "ManagedClusterAddOn"},
	status.KindManagedCluster:      {Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"},
}

// AnnotationOrigin is the annotation with which the spec sync of the hub of hubs
// marks an object that comes from the global hub. Its value is the object's uid
// there.
const AnnotationOrigin = "hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid"

// LabelRootPolicy is the label of the copies of a policy that the policy
// propagator creates for each cluster. They inherit the policy's annotations, and
// are not reported.
const LabelRootPolicy = "policy.open-cluster-management.io/root-policy"

// fromGlobalHub are the kinds of which only objects from the global hub are
// reported. Objects of the other kinds are created on the leaf hub.
var fromGlobalHub = map[status.Kind]bool{
	status.KindPolicy: true, status.KindPlacementRule: true, status.KindPlacement: true,
}

// IDOf returns the id of an object's rows: its uid on the global hub, or its own
// uid if it was created on the leaf hub. It reports whether the object is reported
// at all.
func IDOf(kind status.Kind, object *unstructured.Unstructured) (id string, reported bool) {
	if kind == status.KindManagedClusterAddOn && object.GetName() != manifests.AddonName {
		return "", false
	}
	if _, copied := object.GetLabels()[LabelRootPolicy]; kind == status.KindPolicy && copied {
		return "", false
	}
	// PostgreSQL returns uuids in lower case, and Gone compares them.
	if origin := object.GetAnnotations()[AnnotationOrigin]; origin != "" {
		return strings.ToLower(origin), true
	}
	return string(object.GetUID()), !fromGlobalHub[kind]
}

// Trim removes from a watched object what is not reported, because the cache holds
// all objects.
func Trim(obj any) (any, error) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	if _, found := annotations["kubectl.kubernetes.io/last-applied-configuration"]; found {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		object.SetAnnotations(annotations)
	}
	if object.GetKind() == "Policy" {
		unstructured.RemoveNestedField(object.Object, "spec")
		unstructured.RemoveNestedField(object.Object, "status", "details")
		unstructured.RemoveNestedField(object.Object, "status", "placement")
	}
	return object, nil
}

// CompareRefs orders references by kind, namespace and name.
func CompareRefs(a, b status.ObjectRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
