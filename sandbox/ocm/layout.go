package ocm

import (
	"os"
	"path/filepath"
)

// layout tells where a version of OCM has its manifests of a hub, as patterns below their directory, and what a
// hub of that version runs.
type layout struct {
	crds, rbac, webhooks []string
	servers              []webhookServer
}

// oneDirectory is the layout of OCM v1.0: the names of all files in one directory begin with their component. The
// API of add-ons has one version, so no webhook converts it.
var oneDirectory = layout{
	crds:     []string{"cluster-manager/hub/*.crd.yaml"},
	rbac:     []string{"cluster-manager/hub/cluster-manager-*clusterrole*.yaml"},
	webhooks: []string{"cluster-manager/hub/cluster-manager-*-webhook-*configuration.yaml"},
	servers:  []webhookServer{registrationServer, workServer},
}

// oneForEachComponent is the layout of OCM v1.2.
var oneForEachComponent = layout{
	crds: []string{"cluster-manager/hub/crds/*.yaml"},
	rbac: []string{
		"cluster-manager/hub/registration/*clusterrole*.yaml",
		"cluster-manager/hub/placement/clusterrole*.yaml",
		"cluster-manager/hub/work/*clusterrole*.yaml",
		"cluster-manager/hub/addon-manager/clusterrole*.yaml",
		"cluster-manager/hub/addon-manager/work-executor-*.yaml",
	},
	webhooks: []string{"cluster-manager/hub/*/webhook-*configuration.yaml"},
	servers:  []webhookServer{addonServer, registrationServer, workServer},
}

// layoutOf returns the layout of the manifests in the directory.
func layoutOf(manifests string) layout {
	if _, err := os.Stat(filepath.Join(manifests, "cluster-manager", "hub", "crds")); err != nil {
		return oneDirectory
	}
	return oneForEachComponent
}
