package ocm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	operatorv1 "open-cluster-management.io/api/operator/v1"
)

// The components of OCM that have feature gates, by the names of their programs in the sandbox.
const (
	registrationController = "registration-controller"
	registrationAgent      = "registration-agent"
	workController         = "work-controller"
	workAgent              = "work-agent"
)

// gates holds the feature gates of the components in OCM v1.2.1. The package of OCM's API with them
// would link the metrics of Kubernetes' components into every program that imports this one:
// https://github.com/open-cluster-management-io/api/blob/v1.2.0/feature/feature.go
var gates = map[string][]string{
	registrationController: {"ClusterImporter", "ClusterProfile", "DefaultClusterSet", autoApproval, "ResourceCleanup", "V1beta1CSRAPICompatibility"},
	registrationAgent:      {"AddonManagement", "ClusterClaim", "ClusterProperty", multipleHubs, "V1beta1CSRAPICompatibility"},
	workController:         {workCleanUp, "CloudEventsDrivers", workReplicaSet, "NilExecutorValidating"},
	workAgent:              {"ExecutorValidatingCaches", "RawFeedbackJsonString"},
}

// The feature gates on which the sandbox depends.
const (
	workReplicaSet = "ManifestWorkReplicaSet"
	workCleanUp    = "CleanUpCompletedManifestWork"
	autoApproval   = "ManagedClusterAutoApproval"
	multipleHubs   = "MultipleHubs"
)

// settled returns why the sandbox alone sets a feature gate; empty for the others.
func settled(gate string) string {
	switch gate {
	case multipleHubs:
		return "up --hubs sets it"
	case autoApproval:
		return "it is always true, or no cluster would join"
	}
	return ""
}

// FeatureGates holds the feature gates that differ from OCM's defaults: by component, then by gate. It
// is a flag's value of the form COMPONENT:GATE=true,COMPONENT:GATE=false. As in a ClusterManager, the
// gates of a controller are also those of its webhook server.
type FeatureGates map[string]map[string]bool

// DefaultFeatureGates returns the feature gates of a sandbox: with ManifestWorkReplicaSets, which OCM
// leaves off.
func DefaultFeatureGates() FeatureGates {
	return FeatureGates{workController: {workReplicaSet: true}}
}

// runWorkController reports whether OCM's operator would run the work controller:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/operator/operators/clustermanager/controllers/clustermanagercontroller/clustermanager_controller.go
func (g FeatureGates) runWorkController() bool {
	return g[workController][workReplicaSet] || g[workController][workCleanUp]
}

// Set adds the feature gates of a flag's value.
func (g FeatureGates) Set(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		if one == "" {
			continue
		}
		if err := g.add(one); err != nil {
			return err
		}
	}
	return nil
}

func (g FeatureGates) add(value string) error {
	component, setting, _ := strings.Cut(value, ":")
	known, ok := gates[component]
	if !ok {
		return fmt.Errorf("no component %q: those with feature gates are %s", component, strings.Join(sortedKeys(gates), ", "))
	}
	gate, text, _ := strings.Cut(setting, "=")
	if !slices.Contains(known, gate) {
		return fmt.Errorf("%s has no feature gate %q: it has %s", component, gate, strings.Join(known, ", "))
	}
	if why := settled(gate); why != "" {
		return fmt.Errorf("the feature gate %s cannot be set: %s", gate, why)
	}
	enabled, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false: give %s:%s=true", text, component, gate)
	}
	if g[component] == nil {
		g[component] = map[string]bool{}
	}
	g[component][gate] = enabled
	return nil
}

// String returns the value that Set parses.
func (g FeatureGates) String() string {
	var values []string
	for _, component := range sortedKeys(g) {
		for _, setting := range g.settings(component) {
			values = append(values, component+":"+setting)
		}
	}
	return strings.Join(values, ",")
}

// Type returns the form of a value for the usage of a flag.
func (g FeatureGates) Type() string { return "COMPONENT:GATE=BOOL" }

func (g FeatureGates) settings(component string) []string {
	var settings []string
	for _, gate := range sortedKeys(g[component]) {
		settings = append(settings, fmt.Sprintf("%s=%t", gate, g[component][gate]))
	}
	return settings
}

// list returns the feature gates as the spec of a Klusterlet or ClusterManager has them.
func (g FeatureGates) list(component string) []operatorv1.FeatureGate {
	var list []operatorv1.FeatureGate
	for _, gate := range sortedKeys(g[component]) {
		mode := operatorv1.FeatureGateModeTypeDisable
		if g[component][gate] {
			mode = operatorv1.FeatureGateModeTypeEnable
		}
		list = append(list, operatorv1.FeatureGate{Feature: gate, Mode: mode})
	}
	return list
}

// flags returns the flag of a component's program; none without a feature gate.
func (g FeatureGates) flags(component string) []string {
	settings := g.settings(component)
	if len(settings) == 0 {
		return nil
	}
	return []string{"--feature-gates=" + strings.Join(settings, ",")}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
