package memapi

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/version"
)

// kubernetesVersion is the version of Kubernetes that the clusters report. It is the one
// of the sandbox's real clusters.
const kubernetesVersion = "v1.34.4"

// discover answers the paths that name no objects. It reports whether path is one.
func (a *API) discover(path string) (answer, bool) {
	path = "/" + strings.Trim(path, "/")
	switch path {
	case "/livez", "/readyz", "/healthz":
		return answer{code: http.StatusOK, body: []byte("ok"), text: true}, true
	case "/version":
		return encoded(serverVersion()), true
	case "/api":
		return encoded(&metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}}), true
	case "/apis":
		return encoded(&metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: a.groups()}), true
	}
	parts := strings.Split(path[1:], "/")
	if strings.HasPrefix(path, "/openapi/v3") {
		return a.openAPI(strings.TrimPrefix(path, "/openapi/v3")), true
	}
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return a.resources(parts[1]), true
	case len(parts) == 3 && parts[0] == "apis":
		return a.resources(parts[1] + "/" + parts[2]), true
	case len(parts) == 2 && parts[0] == "apis":
		for _, group := range a.groups() {
			if group.Name == parts[1] {
				group.Kind, group.APIVersion = "APIGroup", "v1"
				return encoded(&group), true
			}
		}
		return failure(notFound()), true
	}
	return answer{}, false
}

func encoded(object any) answer {
	data, err := json.Marshal(object)
	if err != nil {
		return failure(apierrors.NewInternalError(err))
	}
	return answer{code: http.StatusOK, body: data}
}

func serverVersion() version.Info {
	return version.Info{Major: "1", Minor: "34", GitVersion: kubernetesVersion, GitTreeState: "clean", Compiler: "gc", Platform: "linux/amd64"}
}

// served returns all kinds in order.
func (a *API) served() []*kind {
	a.mu.Lock()
	custom := a.custom
	a.mu.Unlock()
	if len(custom) == 0 {
		return sortedBuiltins
	}
	return append(slices.Clone(sortedBuiltins), custom.sorted()...)
}

var sortedBuiltins = builtins.sorted()

// groups returns the API groups other than the core group. The first version of a group
// is the preferred one.
func (a *API) groups() []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, k := range a.served() {
		if k.Group == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == k.Group })
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.apiVersion(), Version: k.Version}
		switch {
		case i < 0:
			groups = append(groups, metav1.APIGroup{Name: k.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		case !slices.Contains(groups[i].Versions, v):
			groups[i].Versions = append(groups[i].Versions, v)
			slices.SortFunc(groups[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
				return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
			})
			groups[i].PreferredVersion = groups[i].Versions[0]
		}
	}
	return groups
}

var (
	createOnly = metav1.Verbs{"create"}
	statusOnly = metav1.Verbs{"get", "patch", "update"}
	allVerbs   = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)

// resources answers the discovery of one group and version, for example apps/v1.
func (a *API) resources(groupVersion string) answer {
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	for _, k := range a.served() {
		if k.apiVersion() != groupVersion {
			continue
		}
		verbs := allVerbs
		if k.create {
			verbs = createOnly
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.Resource, SingularName: strings.ToLower(k.name), Namespaced: k.namespaced, Kind: k.name, Verbs: verbs, ShortNames: k.short})
		if k.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Resource + "/status", Namespaced: k.namespaced, Kind: k.name, Verbs: statusOnly})
		}
	}
	if list.APIResources == nil {
		return failure(notFound())
	}
	return encoded(list)
}

// openAPI answers with as much of an OpenAPI document as kubectl needs to leave the
// validation of what it applies to the server: the paths and that they know the parameter
// fieldValidation. The documents have no schemas.
func (a *API) openAPI(path string) answer {
	document := map[string]any{}
	for _, k := range a.served() {
		root := "apis/" + k.apiVersion()
		if k.Group == "" {
			root = "api/" + k.Version
		}
		switch path {
		case "":
			document[root] = map[string]string{"serverRelativeURL": "openapi/v3/" + root}
		case "/" + root:
			document["/"+root+"/"+k.Resource+"/{name}"] = map[string]any{"patch": map[string]any{
				"parameters": []any{map[string]string{"name": "fieldValidation", "in": "query"}},
				"x-kubernetes-group-version-kind": map[string]string{
					"group": k.Group, "version": k.Version, "kind": k.name},
			}}
		}
	}
	if len(document) == 0 {
		return failure(notFound())
	}
	return encoded(map[string]any{"openapi": "3.0.0", "info": map[string]string{"title": "Kubernetes", "version": kubernetesVersion}, "paths": document})
}
