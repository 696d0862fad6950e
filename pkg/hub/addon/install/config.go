package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// ErrNotDesired is the cause of errors about a config whose content OCM's add-on
// manager does not desire for the cluster, for example because the rollout strategy
// has not reached it. Until then the agent stays as it is shipped.
var ErrNotDesired = errors.New("OCM's add-on manager has not rolled it out to this cluster yet")

// NotNamed reports whether the cause of an ErrNotDesired is that no user of the hub names the
// config. A rollout does not change that.
func NotNamed(err error) bool {
	var cause notNamedError
	return errors.As(err, &cause)
}

type notNamedError struct{ error }

// Unwrap returns the error itself.
func (e notNamedError) Unwrap() error { return e.error }

// DeploymentConfigs is the only kind of config that the add-on supports.
var DeploymentConfigs = addonv1beta1.ConfigGroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"}

// ConfigReference returns the reference to an AddOnDeploymentConfig in the add-on's
// status, or nil.
func ConfigReference(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ConfigReference {
	for i := range addon.Status.ConfigReferences {
		if addon.Status.ConfigReferences[i].ConfigGroupResource == DeploymentConfigs {
			return &addon.Status.ConfigReferences[i]
		}
	}
	return nil
}

// ConfigHash returns the hash of the desired AddOnDeploymentConfig; empty means
// that the add-on has none.
func ConfigHash(addon *addonv1beta1.ManagedClusterAddOn) string {
	reference := ConfigReference(addon)
	if reference == nil || reference.DesiredConfig == nil {
		return ""
	}
	return reference.DesiredConfig.SpecHash
}

// FoundConfig is the result of reading a config from the cache.
type FoundConfig struct {
	Object *unstructured.Unstructured
	// Hash is the hash of its spec, as OCM's add-on manager computes it.
	Hash string
	// Err is the error of reading or hashing it.
	Err error
}

// DesiredConfig returns the config that OCM's add-on manager desires for the add-on.
// found is the object with the name in desired; management is the add-on's
// ClusterManagementAddOn, or nil.
//
// It returns only a config whose content has the desired hash, because OCM's add-on
// manager moves the hash cluster by cluster (docs/design.md#rollout). It returns only
// a config that a user of the hub names: a managed cluster can write the reference in
// the status, and must not read other configs by it, for example a proxy's password.
//
// While the add-on is being deleted there is no rollout. Then the present content
// counts if the config is not a placement's, so that a user can repair an image with
// which the pre-delete hook cannot start. A placement's config needs the hash even
// then, because a cluster of another placement can name it in its status.
func DesiredConfig(addon *addonv1beta1.ManagedClusterAddOn, management *addonv1beta1.ClusterManagementAddOn,
	desired *addonv1beta1.ConfigSpecHash, found FoundConfig) (*addonv1beta1.AddOnDeploymentConfig, error) {
	name := fmt.Sprintf("AddOnDeploymentConfig %s/%s", desired.Namespace, desired.Name)
	switch {
	case !namesConfig(addon, management, desired.ConfigReferent):
		return nil, notNamedError{fmt.Errorf("%s is in status.configReferences of ManagedClusterAddOn %s/%s, but neither its spec.configs "+
			"nor the ClusterManagementAddOn %s names it: %w", name, addon.Namespace, addon.Name, addon.Name, ErrNotDesired)}
	case apierrors.IsNotFound(found.Err):
		return nil, fmt.Errorf("%s does not exist: create it, or take it out of spec.configs of ManagedClusterAddOn %s/%s "+
			"or of the ClusterManagementAddOn %s", name, addon.Namespace, addon.Name, addon.Name)
	case found.Err != nil:
		return nil, fmt.Errorf("read %s: %w", name, found.Err)
	case found.Hash != desired.SpecHash && (addon.DeletionTimestamp == nil ||
		!isAmong(configsForAll(addon, management), desired.ConfigReferent)):
		return nil, fmt.Errorf("the present content of %s: %w", name, ErrNotDesired)
	}
	config := &addonv1beta1.AddOnDeploymentConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object.Object, config); err != nil {
		return nil, fmt.Errorf("convert %s: %w", name, err)
	}
	return config, nil
}

// namesConfig reports whether a user of the hub names the config for this add-on:
// in the ManagedClusterAddOn, or as a default or for a placement in the
// ClusterManagementAddOn.
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

// configsForAll returns the configs that are named for the add-on independently of
// placements.
func configsForAll(addon *addonv1beta1.ManagedClusterAddOn, management *addonv1beta1.ClusterManagementAddOn) []addonv1beta1.AddOnConfig {
	named := slices.Clone(addon.Spec.Configs)
	if management != nil {
		named = append(named, management.Spec.DefaultConfigs...)
	}
	return named
}

func isAmong(configs []addonv1beta1.AddOnConfig, referent addonv1beta1.ConfigReferent) bool {
	return slices.ContainsFunc(configs, func(config addonv1beta1.AddOnConfig) bool {
		return config.ConfigGroupResource == DeploymentConfigs && config.ConfigReferent == referent
	})
}

// Ignored returns the parts of the config that this add-on does not use, for
// example a misspelt customized variable. They are not errors, because several
// add-ons may share a config.
func Ignored(config *addonv1beta1.AddOnDeploymentConfig) []string {
	if config == nil {
		return nil
	}
	var parts []string
	for _, variable := range config.Spec.CustomizedVariables {
		if !slices.Contains(knownVariables, variable.Name) {
			parts = append(parts, fmt.Sprintf("customized variable %s (known: %s)", variable.Name, strings.Join(knownVariables, ", ")))
		}
	}
	for _, requirement := range config.Spec.ResourceRequirements {
		if agentResources([]addonv1beta1.ContainerResourceRequirements{requirement}) == nil {
			parts = append(parts, fmt.Sprintf("resource requirements of container %s (the agent's is deployments:%s:%s)",
				requirement.ContainerID, manifests.AgentDeployment, manifests.AgentDeployment))
		}
	}
	slices.Sort(parts)
	return parts
}
