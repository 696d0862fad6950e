package memapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crdDefaults sets the status and the finalizer of a CustomResourceDefinition, whose
// resources are served at once.
func (a *API) crdDefaults(crd *unstructured.Unstructured) {
	names, _, _ := unstructured.NestedMap(crd.Object, "spec", "names")
	if names == nil {
		return
	}
	kind, _ := names["kind"].(string)
	if names["singular"] == nil {
		names["singular"] = strings.ToLower(kind)
	}
	if names["listKind"] == nil {
		names["listKind"] = kind + "List"
	}
	spec, _ := crd.Object["spec"].(map[string]any)
	spec["names"] = names
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	if crd.GetDeletionTimestamp() == nil && !slices.Contains(crd.GetFinalizers(), customFinalizer) {
		crd.SetFinalizers(append(crd.GetFinalizers(), customFinalizer))
	}
	if crd.Object["status"] != nil {
		return
	}
	var stored []any
	for _, v := range crdVersions(crd) {
		if v["storage"] == true {
			stored = append(stored, v["name"])
		}
	}
	condition := func(what, reason, message string) any {
		return map[string]any{"type": what, "status": "True", "reason": reason, "message": message, "lastTransitionTime": a.timestamp()}
	}
	crd.Object["status"] = map[string]any{
		"acceptedNames":  names,
		"storedVersions": stored,
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}
}

// serveCustom serves the resources of all CustomResourceDefinitions and no others.
func (a *API) serveCustom() {
	a.custom = kinds{}
	for _, e := range a.table(crds.GroupResource()).objects {
		crd, err := e.decode()
		if err != nil {
			a.log.Error(err, "Failed to serve custom resource")
			continue
		}
		for _, k := range crdKinds(crd) {
			if builtins[k.GroupVersionResource] == nil {
				a.custom[k.GroupVersionResource] = k
			}
		}
	}
}

// crdKinds returns the kind of a CustomResourceDefinition in each version that it serves.
func crdKinds(crd *unstructured.Unstructured) []*kind {
	resource := crdResource(crd)
	name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	var served []*kind
	for _, v := range crdVersions(crd) {
		version, _ := v["name"].(string)
		if v["served"] != true || version == "" || name == "" || resource.Resource == "" {
			continue
		}
		_, status, _ := unstructured.NestedFieldNoCopy(v, "subresources", "status")
		served = append(served, &kind{
			GroupVersionResource: resource.WithVersion(version), name: name, short: short,
			namespaced: scope == "Namespaced", status: status, generation: true, custom: true,
		})
	}
	return served
}

func crdResource(crd *unstructured.Unstructured) schema.GroupResource {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	return schema.GroupResource{Group: group, Resource: plural}
}

func crdVersions(crd *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var versions []map[string]any
	for _, item := range list {
		if v, ok := item.(map[string]any); ok {
			versions = append(versions, v)
		}
	}
	return versions
}

// kindOf returns the kind that is served as a resource, or nil.
func (a *API) kindOf(resource schema.GroupVersionResource) *kind {
	if k := builtins[resource]; k != nil {
		return k
	}
	return a.custom[resource]
}

// storageKind returns the kind of a resource in the version in which an object is stored,
// or in any other if that is no longer served.
func (a *API) storageKind(resource schema.GroupResource, version string) *kind {
	if k := a.kindOf(resource.WithVersion(version)); k != nil {
		return k
	}
	for served, k := range a.custom {
		if served.GroupResource() == resource {
			return k
		}
	}
	return nil
}
