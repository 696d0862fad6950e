package addon

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/index"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Cache is what the add-on reads of the hub. All of it comes from informers, so
// that a pass over thousands of clusters that changes nothing makes no request.
type Cache struct {
	// ManagementAddOns has the object of this add-on alone.
	ManagementAddOns addonlisters.ClusterManagementAddOnLister
	// Works has the ManifestWorks with this add-on's label, with
	// cache.NamespaceIndex and addon-framework's indexes.
	Works cache.Indexer
	// Configs has the AddOnDeploymentConfigs as unstructured objects: OCM's
	// add-on manager computes their hash from those.
	Configs cache.GenericLister
	// RoleBindings has the bindings of the agents' rights on the hub.
	RoleBindings rbaclisters.RoleBindingLister
}

// DeployWorks returns the ManifestWorks that carry the agent of this very add-on:
// those in the cluster's own namespace, and in hosted mode also those in the hosting
// cluster's. The pre-delete hook's are not among them.
func (c *Cache) DeployWorks(addon *addonv1beta1.ManagedClusterAddOn) ([]*workv1.ManifestWork, error) {
	key := addon.Namespace + "/" + manifests.AddonName
	own, err := c.worksBy(index.ManifestWorkByAddon, key)
	if err != nil {
		return nil, err
	}
	hosted, err := c.worksBy(index.ManifestWorkByHostedAddon, key)
	return ownWorks(addon, append(own, hosted...)), err
}

// desiredConfig returns the AddOnDeploymentConfig that OCM's add-on manager has
// put as desired for the add-on, or nil when it has none.
func (c *Cache) desiredConfig(addon *addonv1beta1.ManagedClusterAddOn) (*addonv1beta1.AddOnDeploymentConfig, error) {
	reference := configReference(addon)
	if reference == nil {
		return nil, nil
	}
	desired := reference.DesiredConfig
	if desired == nil || desired.SpecHash == "" {
		return nil, fmt.Errorf("the AddOnDeploymentConfig of ManagedClusterAddOn %s/%s has no hash in status.configReferences: "+
			"it does not exist, or OCM's add-on manager has not read it yet", addon.Namespace, addon.Name)
	}
	management, err := c.ManagementAddOns.Get(addon.Name)
	if apierrors.IsNotFound(err) {
		management, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ClusterManagementAddOn %s: %w", addon.Name, err)
	}
	return desiredConfig(addon, management, desired, c.findConfig(desired.ConfigReferent))
}

func (c *Cache) findConfig(referent addonv1beta1.ConfigReferent) foundConfig {
	object, err := c.Configs.ByNamespace(referent.Namespace).Get(referent.Name)
	if err != nil {
		return foundConfig{err: err}
	}
	config, ok := object.(*unstructured.Unstructured)
	if !ok {
		return foundConfig{err: fmt.Errorf("the cache has a %T", object)}
	}
	hash, err := utils.GetSpecHash(config)
	return foundConfig{object: config, hash: hash, err: err}
}

// worksIn returns the ManifestWorks of this add-on in a namespace, among them
// those that carry the agents of clusters that this cluster hosts.
func (c *Cache) worksIn(namespace string) ([]*workv1.ManifestWork, error) {
	return c.worksBy(cache.NamespaceIndex, namespace)
}

func (c *Cache) worksBy(name, key string) ([]*workv1.ManifestWork, error) {
	found, err := c.Works.ByIndex(name, key)
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks of %s by %s: %w", key, name, err)
	}
	works := make([]*workv1.ManifestWork, 0, len(found))
	for _, object := range found {
		if work, ok := object.(*workv1.ManifestWork); ok {
			works = append(works, work)
		}
	}
	return works, nil
}
