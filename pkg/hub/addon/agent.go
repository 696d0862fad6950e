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
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout"
)

// AgentAddon tells addon-framework's AddonManager how to run the agent. It
// implements agent.AgentAddon itself instead of by addonfactory, whose text
// templates let a value change a document's structure and panic when one fails.
type AgentAddon struct {
	image string
	hub   HubClient
	cache *Cache
}

var _ agent.AgentAddon = &AgentAddon{}

// New returns the add-on whose agents run image, whose rights are written to
// hub, and which reads the hub's objects from cache.
func New(image string, hub HubClient, cache *Cache) *AgentAddon {
	return &AgentAddon{image: image, hub: hub, cache: cache}
}

// Manifests returns the objects that run the agent on the cluster, and the
// pre-delete hook, which the framework tells apart. An error, such as a wrong
// value in an AddOnDeploymentConfig, is shown by the framework in the add-on's
// condition ManifestApplied, and leaves the agent as it is.
func (a *AgentAddon) Manifests(_ context.Context, cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) ([]runtime.Object, error) {
	shipped, err := a.shipped(addon)
	if err != nil {
		return nil, err
	}
	config, configErr := a.cache.desiredConfig(addon)
	if addon.DeletionTimestamp != nil {
		if !slices.Contains(addon.Finalizers, hookFinalizer(addon, shipped)) || !everRan(addon) || uninstalled(addon) {
			return nil, nil
		}
		return a.uninstallObjects(cluster, addon, config, shipped)
	}
	configured := meta.IsStatusConditionTrue(addon.Status.Conditions, addonv1beta1.ManagedClusterAddOnConditionConfigured)
	switch {
	case shipped != nil && (!configured || errors.Is(configErr, errNotDesired)):
		// OCM's rollout has not reached this cluster: nothing changes on it.
		return withHook(shipped.Objects, shipped.values(addon))
	case !configured:
		return nil, errNotConfigured
	case configErr != nil:
		return nil, configErr
	}
	values, err := a.values(cluster, addon, config, shipped)
	if err != nil {
		return nil, err
	}
	objects, err := Render(values)
	if err != nil {
		return nil, err
	}
	return withHook(objects, values)
}

// uninstallObjects returns the objects while the pre-delete hook runs: the agent
// as it is shipped, and the hook beside it. The hook is made of what is shipped where
// the agent has run so: a config that OCM's rollout has not brought to the cluster
// may have an image that does not start. Else it is made of the present config, by
// which a hook that does not start can be mended.
func (a *AgentAddon) uninstallObjects(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, shipped *Shipped) ([]runtime.Object, error) {
	if shipped == nil {
		image := a.image
		if chosen, err := agentImage(cluster, addon, config, a.image); err == nil {
			image = chosen
		}
		values, err := hookOnly(addon, config, image)
		if err != nil {
			return nil, err
		}
		return withHook(nil, values)
	}
	if config != nil && !shipped.hasRun(addon) {
		if values, err := a.values(cluster, addon, config, shipped); err == nil {
			return withHook(shipped.Objects, values)
		}
	}
	return withHook(shipped.Objects, shipped.values(addon))
}

func withHook(objects []runtime.Object, values Values) ([]runtime.Object, error) {
	hook, err := RenderHook(values)
	return append(slices.Clone(objects), hook), err
}

// hookFinalizer returns the finalizer that the framework removes when the hook is
// done.
func hookFinalizer(addon *addonv1beta1.ManagedClusterAddOn, shipped *Shipped) string {
	if hostingCluster(addon, shipped) != "" {
		return addonv1beta1.AddonHostingPreDeleteHookFinalizer
	}
	return addonv1beta1.AddonPreDeleteHookFinalizer
}

// errNotConfigured is for an add-on whose configs OCM's add-on manager has not
// settled yet, or of which one is missing: an agent is not first installed without
// them, and then moved. (The framework can check that itself, but then it deletes
// an add-on whose config was deleted before without running the hook.)
var errNotConfigured = errors.New("OCM's add-on manager has not settled the add-on's configuration yet: see the condition Configured")

func (a *AgentAddon) values(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, shipped *Shipped) (Values, error) {
	place, err := a.place(addon, config, shipped)
	if err != nil {
		return Values{}, err
	}
	image, err := agentImage(cluster, addon, config, a.image)
	if err != nil {
		return Values{}, err
	}
	return NewValues(addon, place, config, image)
}

// place returns where the agent runs, or why it may not run where it is wanted.
func (a *AgentAddon) place(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig,
	shipped *Shipped) (Place, error) {
	place, err := settlePlace(addon, config, shipped)
	if err != nil || shipped != nil && place == shipped.Place {
		return place, err
	}
	return place, a.checkNeighbours(addon, place)
}

// checkNeighbours refuses a place in which the agent of another add-on runs.
func (a *AgentAddon) checkNeighbours(addon *addonv1beta1.ManagedClusterAddOn, place Place) error {
	host := place.HostingCluster
	if host == "" {
		host = addon.Namespace
	}
	works, err := a.cache.worksIn(host)
	if err != nil {
		return err
	}
	neighbours, err := neighboursIn(works)
	if err != nil {
		return err
	}
	return checkNeighbours(addon, place, neighbours)
}

func (a *AgentAddon) shipped(addon *addonv1beta1.ManagedClusterAddOn) (*Shipped, error) {
	works, err := a.cache.DeployWorks(addon)
	if err != nil {
		return nil, err
	}
	return NewShipped(addon, works)
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
		HostedModeInfoFunc:    a.hostedModeInfo,
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
			// The API server's default. Without it the framework finds the work
			// changed, and patches that of every cluster when the controller starts.
			FeedbackScrapeType: workv1.FeedbackPollType,
		}, rollout.Feedback()},
	}
}

// hostedModeInfo returns the mode in which the agent is installed, in the
// framework's words, and its hosting cluster. An agent that is shipped stays
// where it is.
//
// A finalizer of hosted mode without a hosting cluster, which an earlier version
// may have left, is removed by the framework only in hosted mode.
func (a *AgentAddon) hostedModeInfo(addon *addonv1beta1.ManagedClusterAddOn, _ *clusterv1.ManagedCluster) (mode, host string) {
	shipped, err := a.shipped(addon)
	if err != nil {
		klog.Background().Error(err, "Failed to read what is shipped", "addon", klog.KObj(addon))
	}
	host = hostingCluster(addon, shipped)
	if host == "" && !hasLeftover(addon, shipped) {
		return constants.InstallModeDefault, ""
	}
	return constants.InstallModeHosted, host
}

// hasLeftover reports whether an add-on of default mode has a finalizer of hosted
// mode that can be removed now: nothing is shipped, or the add-on is being deleted
// and its own pre-delete hook is done.
func hasLeftover(addon *addonv1beta1.ManagedClusterAddOn, shipped *Shipped) bool {
	if shipped != nil && (addon.DeletionTimestamp == nil || slices.Contains(addon.Finalizers, addonv1beta1.AddonPreDeleteHookFinalizer)) {
		return false
	}
	return slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingPreDeleteHookFinalizer) ||
		slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingManifestFinalizer)
}

// hostingCluster returns the cluster on which the agent runs, or is to run where
// none is shipped; empty means the managed cluster itself.
func hostingCluster(addon *addonv1beta1.ManagedClusterAddOn, shipped *Shipped) string {
	if shipped != nil {
		return shipped.HostingCluster
	}
	return HostingCluster(addon)
}

// installNamespace returns the agent's namespace, where OCM's registration agent
// writes the secret and looks for the lease.
func (a *AgentAddon) installNamespace(_ context.Context, addon *addonv1beta1.ManagedClusterAddOn) (string, error) {
	shipped, err := a.shipped(addon)
	if err != nil {
		return "", err
	}
	config, err := a.cache.desiredConfig(addon)
	if shipped != nil && (addon.DeletionTimestamp != nil || errors.Is(err, errNotDesired)) {
		return shipped.Namespace, nil
	}
	if err != nil {
		return "", err
	}
	place, err := a.place(addon, config, shipped)
	return place.Namespace, err
}

// agentImage returns the image of the agent: the config's variable, or else the
// controller's default, with the registries that the config, or else the cluster's
// annotation, puts in the place of others.
func agentImage(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, image string) (string, error) {
	const key = "image"
	if named := variableOf(config, VariableAgentImage); named != "" {
		image = named
	}
	values, err := addonfactory.GetAgentImageValues(settledConfig{config}, key, image)(cluster, addon)
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
