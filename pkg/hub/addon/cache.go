package addon

import (
	"errors"
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
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// Cache reads the hub's objects from informers, so that a pass over thousands of
// clusters that changes nothing sends no request.
type Cache struct {
	// ManagementAddOns holds only the object of this add-on.
	ManagementAddOns addonlisters.ClusterManagementAddOnLister
	// Works holds the ManifestWorks with this add-on's label. It has
	// cache.NamespaceIndex and addon-framework's indexes.
	Works cache.Indexer
	// Configs holds the AddOnDeploymentConfigs as unstructured objects, because OCM's
	// add-on manager computes their hash from those.
	Configs cache.GenericLister
	// RoleBindings holds the bindings of the agents' rights on the hub.
	RoleBindings rbaclisters.RoleBindingLister
	// ReplicaSetRoleBindings holds the bindings of the rights of the controller of
	// ConfigMapReplicaSets.
	ReplicaSetRoleBindings rbaclisters.RoleBindingLister
}

// DeployWorks returns the ManifestWorks with the agent of this ManagedClusterAddOn:
// those in the cluster's namespace, and in hosted mode those in the hosting cluster's.
// The pre-delete hook's are not among them.
func (c *Cache) DeployWorks(addon *addonv1beta1.ManagedClusterAddOn) ([]*workv1.ManifestWork, error) {
	key := addon.Namespace + "/" + manifests.AddonName
	own, err := c.worksBy(index.ManifestWorkByAddon, key)
	if err != nil {
		return nil, err
	}
	hosted, err := c.worksBy(index.ManifestWorkByHostedAddon, key)
	return install.OwnWorks(addon, append(own, hosted...)), err
}

// desiredConfig returns the AddOnDeploymentConfig that OCM's add-on manager desires for
// the add-on, or nil when it has none.
func (c *Cache) desiredConfig(addon *addonv1beta1.ManagedClusterAddOn) (*addonv1beta1.AddOnDeploymentConfig, error) {
	reference := install.ConfigReference(addon)
	if reference == nil {
		return nil, nil
	}
	desired := reference.DesiredConfig
	if desired == nil {
		return nil, fmt.Errorf("the AddOnDeploymentConfig of ManagedClusterAddOn %s/%s has no name in status.configReferences: "+
			"OCM's add-on manager has not read it yet", addon.Namespace, addon.Name)
	}
	management, err := c.ManagementAddOns.Get(addon.Name)
	if apierrors.IsNotFound(err) {
		management, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ClusterManagementAddOn %s: %w", addon.Name, err)
	}
	return install.DesiredConfig(addon, management, desired, c.findConfig(desired.ConfigReferent))
}

// awaitsHash reports whether the add-on has a config that OCM's add-on manager has not
// read yet. It sets the condition Configured before the hash, for example for some
// seconds when the ClusterManagementAddOn is new. A config that no user of the hub names is
// not read: a managed cluster can write such a reference itself.
func (c *Cache) awaitsHash(addon *addonv1beta1.ManagedClusterAddOn) bool {
	if install.ConfigReference(addon) == nil || install.ConfigHash(addon) != "" {
		return false
	}
	_, err := c.desiredConfig(addon)
	return errors.Is(err, install.ErrNotDesired) && !install.NotNamed(err)
}

func (c *Cache) findConfig(referent addonv1beta1.ConfigReferent) install.FoundConfig {
	object, err := c.Configs.ByNamespace(referent.Namespace).Get(referent.Name)
	if err != nil {
		return install.FoundConfig{Err: err}
	}
	config, ok := object.(*unstructured.Unstructured)
	if !ok {
		return install.FoundConfig{Err: fmt.Errorf("the cache has a %T", object)}
	}
	hash, err := utils.GetSpecHash(config)
	return install.FoundConfig{Object: config, Hash: hash, Err: err}
}

// worksIn returns the ManifestWorks of this add-on in a cluster's namespace, with those
// of the clusters that it hosts.
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

// Inspect returns whether the add-on has a configuration, which parts of it are
// ignored, and why it is refused. It does not read a config that OCM's rollout has not
// brought to the cluster yet.
func (a *AgentAddon) Inspect(addon *addonv1beta1.ManagedClusterAddOn) plan.Inspection {
	inspection := plan.Inspection{Configured: install.ConfigReference(addon) != nil}
	config, err := a.cache.desiredConfig(addon)
	if errors.Is(err, install.ErrNotDesired) {
		inspection.Pending = err.Error()
		return inspection
	}
	if err != nil {
		inspection.Refused = err
		return inspection
	}
	inspection.Ignored = install.Ignored(config)
	shipped, err := a.shipped(addon)
	if err == nil {
		_, err = a.place(addon, config, shipped)
	}
	if err == nil && shipped != nil {
		// An earlier version allowed two agents in one namespace. Which one to stop is
		// the users' decision.
		err = a.checkNeighbours(addon, shipped.Place)
	}
	_, valuesErr := install.NewValues(addon, install.Place{}, config, "")
	inspection.Refused = errors.Join(err, valuesErr)
	return inspection
}
