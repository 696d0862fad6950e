package controller

import (
	"fmt"
	"slices"
	"strings"

	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// requiredAPI is a part of OCM's API that the controller works with.
type requiredAPI struct {
	groupVersion string
	resources    []string
}

// requiredAPIs are what makes a cluster a hub for this controller.
func requiredAPIs() []requiredAPI {
	return []requiredAPI{
		{addonv1beta1.GroupVersion.String(), []string{"addondeploymentconfigs", "clustermanagementaddons", "managedclusteraddons"}},
		{clusterv1.GroupVersion.String(), []string{"managedclusters"}},
		{workv1.GroupVersion.String(), []string{"manifestworks"}},
	}
}

// checkAPIs returns what is missing on the cluster at host, of which served has
// the resources by group and version, or nil.
func checkAPIs(host string, served map[string][]string) error {
	var missing []string
	for _, api := range requiredAPIs() {
		for _, resource := range api.resources {
			if !slices.Contains(served[api.groupVersion], resource) {
				missing = append(missing, resource+"."+api.groupVersion)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster at %s is no hub of Open Cluster Management with add-on API %s: it does not serve %s: "+
		"install OCM there (for example with clusteradm init), or point --kubeconfig at a hub",
		host, addonv1beta1.GroupVersion.Version, strings.Join(missing, ", "))
}
