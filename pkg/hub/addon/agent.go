package addon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonfactory"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/constants"
	"open-cluster-management.io/addon-framework/pkg/agent"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// AgentAddon tells addon-framework's AddonManager how to run the agent. It
// implements agent.AgentAddon itself instead of by addonfactory, whose text
// templates let a value change a document's structure and panic when one fails.
type AgentAddon struct {
	image   string
	hub     HubClient
	configs utils.AddOnDeploymentConfigGetter
}

var _ agent.AgentAddon = &AgentAddon{}

// New returns the add-on whose agents run image, whose rights are written to
// hub, and whose AddOnDeploymentConfigs are read with configs.
func New(image string, hub HubClient, configs utils.AddOnDeploymentConfigGetter) *AgentAddon {
	return &AgentAddon{image: image, hub: hub, configs: configs}
}

// Manifests returns the objects that run the agent on the cluster, and the
// pre-delete hook, which the framework tells apart. An error, such as a wrong
// value in an AddOnDeploymentConfig, is shown by the framework in the add-on's
// condition ManifestApplied, and leaves the agent as it is.
func (a *AgentAddon) Manifests(ctx context.Context, cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) ([]runtime.Object, error) {
	deleting := addon.DeletionTimestamp != nil
	if deleting && (!slices.Contains(addon.Finalizers, hookFinalizer(addon)) || !everRan(addon)) {
		return nil, nil
	}
	if !deleting && !meta.IsStatusConditionTrue(addon.Status.Conditions, addonv1beta1.ManagedClusterAddOnConditionConfigured) {
		return nil, errNotConfigured
	}
	values, err := a.values(ctx, cluster, addon)
	if err != nil && deleting {
		klog.FromContext(ctx).Info("Uninstalling without the add-on's configuration, which cannot be used",
			"cluster", cluster.Name, "reason", err.Error())
		hook, err := RenderHook(hookOnly(addon, a.image))
		return []runtime.Object{hook}, err
	}
	if err != nil {
		return nil, err
	}
	objects, err := Render(values)
	if err != nil {
		return nil, err
	}
	hook, err := RenderHook(values)
	return append(objects, hook), err
}

// hookFinalizer is the finalizer that the framework removes when the hook is done.
func hookFinalizer(addon *addonv1beta1.ManagedClusterAddOn) string {
	if hosted(addon) {
		return addonv1beta1.AddonHostingPreDeleteHookFinalizer
	}
	return addonv1beta1.AddonPreDeleteHookFinalizer
}

// everRan says whether there may be copies. The agent writes none before it has
// reported for the first time, so that an add-on can be deleted on a cluster
// where no agent ever came up, and no hook would.
func everRan(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return meta.FindStatusCondition(addon.Status.Conditions, manifests.ConditionConfigMapsSynced) != nil
}

// errNotConfigured is for an add-on of which OCM's add-on manager has not said
// yet which configs apply, or that one is missing: an agent is not first
// installed without them, and then moved. (The framework can check that itself,
// but then it deletes an add-on whose config was deleted before without running
// the hook.)
var errNotConfigured = errors.New("OCM's add-on manager has not settled the add-on's configuration yet: see the condition Configured")

func (a *AgentAddon) values(ctx context.Context, cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) (Values, error) {
	config, err := a.deploymentConfig(ctx, addon)
	if err != nil {
		return Values{}, err
	}
	image, err := a.agentImage(cluster, addon, config)
	if err != nil {
		return Values{}, err
	}
	return NewValues(addon, config, image)
}

// GetAgentAddonOptions returns what the framework has to know besides. The
// health prober stays nil, which means the agent's lease: with any other, OCM
// stops looking at the lease.
func (a *AgentAddon) GetAgentAddonOptions() agent.AgentAddonOptions {
	return agent.AgentAddonOptions{
		AddonName:             manifests.AddonName,
		Registration:          a.registration(),
		AgentInstallNamespace: a.installNamespace,
		HostedModeEnabled:     true,
		HostedModeInfoFunc:    hostedModeInfo,
		SupportedConfigGVRs:   []schema.GroupVersionResource{utils.AddOnDeploymentConfigGVR},
		// The registries to pull images from may be an annotation of the cluster.
		AgentDeployTriggerClusterFilter: func(before, after *clusterv1.ManagedCluster) bool {
			return before.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey] !=
				after.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey]
		},
		// A namespace that is there is somebody else's: its labels and annotations
		// are left alone.
		ManifestConfigs: []workv1.ManifestConfigOption{{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "namespaces", Name: "*"},
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
		}},
	}
}

// hostedModeInfo is the mode in which the agent is installed, in the framework's
// words, and its hosting cluster.
func hostedModeInfo(addon *addonv1beta1.ManagedClusterAddOn, _ *clusterv1.ManagedCluster) (mode, hostingCluster string) {
	if !hosted(addon) {
		return constants.InstallModeDefault, ""
	}
	return constants.InstallModeHosted, HostingCluster(addon)
}

func (a *AgentAddon) installNamespace(ctx context.Context, addon *addonv1beta1.ManagedClusterAddOn) (string, error) {
	config, err := a.deploymentConfig(ctx, addon)
	if err != nil {
		return "", err
	}
	return InstallNamespace(addon, config)
}

// deploymentConfig returns the AddOnDeploymentConfig that OCM has settled on for
// the add-on, or nil when there is none.
func (a *AgentAddon) deploymentConfig(ctx context.Context, addon *addonv1beta1.ManagedClusterAddOn,
) (*addonv1beta1.AddOnDeploymentConfig, error) {
	ok, reference := utils.GetAddOnConfigRef(addon.Status.ConfigReferences,
		utils.AddOnDeploymentConfigGVR.Group, utils.AddOnDeploymentConfigGVR.Resource)
	if !ok {
		return nil, nil
	}
	desired := reference.DesiredConfig
	if desired == nil || desired.SpecHash == "" {
		return nil, fmt.Errorf("the AddOnDeploymentConfig of ManagedClusterAddOn %s/%s has no hash in status.configReferences: "+
			"it does not exist, or OCM's add-on manager has not read it yet", addon.Namespace, addon.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	config, err := a.configs.Get(ctx, desired.Namespace, desired.Name)
	if err != nil {
		return nil, fmt.Errorf("get AddOnDeploymentConfig %s/%s: %w", desired.Namespace, desired.Name, err)
	}
	return config, nil
}

// agentImage is the image with the registries that the config, or else the
// cluster's annotation, puts in the place of others.
func (a *AgentAddon) agentImage(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig) (string, error) {
	const key = "image"
	values, err := addonfactory.GetAgentImageValues(settledConfig{config}, key, a.image)(cluster, addon)
	if err != nil {
		return "", fmt.Errorf("choose the agent's image from the registries of the AddOnDeploymentConfig and of ManagedCluster %s: %w",
			cluster.Name, err)
	}
	image, ok := values[key].(string)
	if !ok {
		return "", fmt.Errorf("choose the agent's image: got %v", values)
	}
	return image, nil
}

// settledConfig answers with the config that has been read already.
type settledConfig struct {
	config *addonv1beta1.AddOnDeploymentConfig
}

var errNoConfig = errors.New("no AddOnDeploymentConfig")

func (s settledConfig) Get(context.Context, string, string) (*addonv1beta1.AddOnDeploymentConfig, error) {
	if s.config == nil {
		return nil, errNoConfig
	}
	return s.config, nil
}
