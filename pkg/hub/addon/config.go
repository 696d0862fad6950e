package addon

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// errNotDesired is the cause of errors about a config whose content OCM's add-on
// manager has not put as desired for the cluster, for example because a rollout
// strategy has not reached it. What is shipped stays until then.
var errNotDesired = errors.New("OCM's add-on manager has not rolled it out to this cluster yet")

// configReference returns the add-on's reference to an AddOnDeploymentConfig, or
// nil.
func configReference(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ConfigReference {
	for i := range addon.Status.ConfigReferences {
		if addon.Status.ConfigReferences[i].ConfigGroupResource == deploymentConfigs {
			return &addon.Status.ConfigReferences[i]
		}
	}
	return nil
}

// deploymentConfigs is the one kind of config that the add-on takes.
var deploymentConfigs = addonv1beta1.ConfigGroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"}

// foundConfig is what the cache has under a config's name.
type foundConfig struct {
	object *unstructured.Unstructured
	// hash is that of its content, as OCM's add-on manager computes it.
	hash string
	// err is the error of reading or hashing it.
	err error
}

// desiredConfig returns the config that OCM's add-on manager has put as desired.
// found is the object of that name, management the add-on's
// ClusterManagementAddOn (nil: there is none).
//
// Only a config whose content has the desired hash is rendered: OCM's add-on
// manager moves the hash cluster by cluster, by the rollout strategy of the
// ClusterManagementAddOn. Only a config that the hub's users name is rendered: a
// managed cluster can write the status with the reference, and must not learn by
// it what other configs contain, for example a proxy's password.
//
// While the add-on is being deleted the present content counts, if every cluster
// without a placement may use it: there is no rollout any more, and an image with
// which the pre-delete hook cannot start can still be mended. The config of a
// placement needs the hash also then, because another placement's clusters can
// name it in their status.
func desiredConfig(addon *addonv1beta1.ManagedClusterAddOn, management *addonv1beta1.ClusterManagementAddOn,
	desired *addonv1beta1.ConfigSpecHash, found foundConfig) (*addonv1beta1.AddOnDeploymentConfig, error) {
	name := fmt.Sprintf("AddOnDeploymentConfig %s/%s", desired.Namespace, desired.Name)
	switch {
	case !namesConfig(addon, management, desired.ConfigReferent):
		return nil, fmt.Errorf("%s is in status.configReferences of ManagedClusterAddOn %s/%s, but neither its spec.configs "+
			"nor the ClusterManagementAddOn %s names it: %w", name, addon.Namespace, addon.Name, addon.Name, errNotDesired)
	case apierrors.IsNotFound(found.err):
		return nil, fmt.Errorf("%s does not exist: create it, or take it out of spec.configs of ManagedClusterAddOn %s/%s "+
			"or of the ClusterManagementAddOn %s", name, addon.Namespace, addon.Name, addon.Name)
	case found.err != nil:
		return nil, fmt.Errorf("read %s: %w", name, found.err)
	case found.hash != desired.SpecHash && (addon.DeletionTimestamp == nil ||
		!isAmong(configsForAll(addon, management), desired.ConfigReferent)):
		return nil, fmt.Errorf("the present content of %s: %w", name, errNotDesired)
	}
	config := &addonv1beta1.AddOnDeploymentConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.object.Object, config); err != nil {
		return nil, fmt.Errorf("convert %s: %w", name, err)
	}
	return config, nil
}

// namesConfig reports whether a user of the hub names the config for this add-on:
// in the ManagedClusterAddOn, as a default of the ClusterManagementAddOn, or for
// one of its placements.
func namesConfig(addon *addonv1beta1.ManagedClusterAddOn, management *addonv1beta1.ClusterManagementAddOn,
	referent addonv1beta1.ConfigReferent) bool {
	named := configsForAll(addon, management)
	if management != nil {
		for _, placement := range management.Spec.InstallStrategy.Placements {
			named = append(named, placement.Configs...)
		}
	}
	return isAmong(named, referent)
}

// configsForAll returns the configs that are named for the add-on whatever
// placement selects the cluster.
func configsForAll(addon *addonv1beta1.ManagedClusterAddOn, management *addonv1beta1.ClusterManagementAddOn) []addonv1beta1.AddOnConfig {
	named := slices.Clone(addon.Spec.Configs)
	if management != nil {
		named = append(named, management.Spec.DefaultConfigs...)
	}
	return named
}

func isAmong(configs []addonv1beta1.AddOnConfig, referent addonv1beta1.ConfigReferent) bool {
	return slices.ContainsFunc(configs, func(config addonv1beta1.AddOnConfig) bool {
		return config.ConfigGroupResource == deploymentConfigs && config.ConfigReferent == referent
	})
}
