package addon

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout"
)

// Inspect returns what is to be said about the add-on's configuration: whether
// there is one, which parts of it are ignored, and why it is refused. A config
// that OCM's rollout has not brought to the cluster yet is not looked into.
func (a *AgentAddon) Inspect(addon *addonv1beta1.ManagedClusterAddOn) rollout.Inspection {
	inspection := rollout.Inspection{Configured: configReference(addon) != nil}
	config, err := a.cache.desiredConfig(addon)
	if errors.Is(err, errNotDesired) {
		inspection.Pending = err.Error()
		return inspection
	}
	if err != nil {
		inspection.Refused = err
		return inspection
	}
	inspection.Ignored = ignored(config)
	shipped, err := a.shipped(addon)
	if err == nil {
		_, err = a.place(addon, config, shipped)
	}
	if err == nil && shipped != nil {
		// Both run already, as an earlier version allowed: stopping one is the users' choice.
		err = a.checkNeighbours(addon, shipped.Place)
	}
	_, valuesErr := NewValues(addon, Place{}, config, "")
	inspection.Refused = errors.Join(err, valuesErr)
	return inspection
}

// ignored returns the parts of the config that mean nothing to this add-on, for
// example a customized variable with a spelling mistake. A config may serve several
// add-ons, so they are no error.
func ignored(config *addonv1beta1.AddOnDeploymentConfig) []string {
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
