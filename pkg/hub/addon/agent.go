package addon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonfactory"
	"open-cluster-management.io/addon-framework/pkg/addonmanager/constants"
	"open-cluster-management.io/addon-framework/pkg/agent"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// AgentAddon implements addon-framework's agent.AgentAddon. It does not use
// addonfactory, whose text templates let a value change a document's structure, and
// panic when a template fails.
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/agent/interface.go
type AgentAddon struct {
	image string
	hub   HubClient
	cache *Cache
	// distributor is the namespace of the controller of ConfigMapReplicaSets. It is empty
	// when that controller gets no right.
	distributor string
}

var _ agent.AgentAddon = &AgentAddon{}

// New returns the add-on. Its agents run image, unless a config names another one; it
// writes their rights to hub and reads the hub's objects from cache.
func New(image string, hub HubClient, cache *Cache) *AgentAddon {
	return &AgentAddon{image: image, hub: hub, cache: cache}
}

// WithDistribution makes the add-on grant the controller of ConfigMapReplicaSets in the
// namespace the right to write ConfigMaps in the namespaces of clusters on which the add-on
// is enabled.
func (a *AgentAddon) WithDistribution(namespace string) *AgentAddon {
	a.distributor = namespace
	return a
}

// Manifests returns the objects that run the agent on the cluster, and the pre-delete
// hook, which the framework recognizes by its annotation. The framework writes an
// error, for example about an invalid value in an AddOnDeploymentConfig, to the
// condition ManifestApplied, and leaves what is shipped as it is.
func (a *AgentAddon) Manifests(_ context.Context, cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) ([]runtime.Object, error) {
	shipped, err := a.shipped(addon)
	if err != nil {
		return nil, err
	}
	config, configErr := a.cache.desiredConfig(addon)
	if addon.DeletionTimestamp != nil {
		if !slices.Contains(addon.Finalizers, hookFinalizer(addon, shipped)) || !install.EverRan(addon) || install.Uninstalled(addon) {
			return nil, nil
		}
		return a.uninstallObjects(cluster, addon, config, shipped)
	}
	configured := isConfigured(addon)
	switch {
	case shipped != nil && (!configured || errors.Is(configErr, install.ErrNotDesired)):
		// OCM's rollout has not reached this cluster: nothing changes on it.
		return withHook(shipped.Objects, shipped.Values(addon))
	case !configured:
		return nil, errNotConfigured
	case configErr != nil:
		return nil, configErr
	}
	values, err := a.values(cluster, addon, config, shipped)
	if err != nil {
		return nil, err
	}
	objects, err := install.Render(values)
	if err != nil {
		return nil, err
	}
	return withHook(objects, values)
}

// uninstallObjects returns the objects while the pre-delete hook runs: the agent as it is
// shipped, and the hook (docs/design.md#uninstall). Where the agent has run as it is
// shipped, the hook has the same values: a config that OCM's rollout has not brought to
// the cluster may have an image that does not start. Otherwise it has the values of the
// present config, so that a user can repair a hook that does not start.
func (a *AgentAddon) uninstallObjects(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, shipped *install.Shipped) ([]runtime.Object, error) {
	if shipped == nil {
		image := a.image
		if chosen, err := agentImage(cluster, addon, config, a.image); err == nil {
			image = chosen
		}
		values, err := install.HookValues(addon, config, image)
		if err != nil {
			return nil, err
		}
		return withHook(nil, values)
	}
	if config != nil && !shipped.HasRun(addon) {
		if values, err := a.values(cluster, addon, config, shipped); err == nil {
			return withHook(shipped.Objects, values)
		}
	}
	return withHook(shipped.Objects, shipped.Values(addon))
}

func withHook(objects []runtime.Object, values install.Values) ([]runtime.Object, error) {
	hook, err := install.RenderHook(values)
	return append(slices.Clone(objects), hook), err
}

// hookFinalizer returns the finalizer that the framework removes when the hook has
// completed.
func hookFinalizer(addon *addonv1beta1.ManagedClusterAddOn, shipped *install.Shipped) string {
	if hostingCluster(addon, shipped) != "" {
		return addonv1beta1.AddonHostingPreDeleteHookFinalizer
	}
	return addonv1beta1.AddonPreDeleteHookFinalizer
}

// errNotConfigured keeps an add-on uninstalled until OCM's add-on manager has set its
// configs, and all of them exist: otherwise the agent would be installed without them
// and then moved. The framework can check that itself, but then it deletes an add-on
// whose config was deleted without running the hook.
var errNotConfigured = errors.New("OCM's add-on manager has not settled the add-on's configuration yet: see the condition Configured")

// MayRegister reports whether the framework is to register the add-on: a new one not before
// OCM's add-on manager has configured it, because both write the same object and would
// refuse each other's writes. An add-on with configs of its own is registered at once: OCM
// reports them as not supported until the registration has listed what is.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/addon/controllers/addonprogressing/controller.go
func (a *AgentAddon) MayRegister(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return len(addon.Spec.Configs) > 0 || a.MayDeploy(addon)
}

// MayDeploy reports whether the framework is to deploy the add-on: a new one not before
// OCM's add-on manager has configured it and set the hash of its config. Manifests returns
// an error for such an add-on, which the framework would write to the condition
// ManifestApplied and soon overwrite, on every cluster on which the add-on is enabled. The
// condition Configured is OCM's own report. A ManifestApplied that is there already has to be
// kept up to date.
func (a *AgentAddon) MayDeploy(addon *addonv1beta1.ManagedClusterAddOn) bool {
	applied := meta.FindStatusCondition(addon.Status.Conditions, addonv1beta1.ManagedClusterAddOnManifestApplied)
	if addon.DeletionTimestamp != nil || isConfigured(addon) && !a.cache.awaitsHash(addon) || applied != nil {
		return true
	}
	shipped, err := a.shipped(addon)
	return err != nil || shipped != nil
}

func isConfigured(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return meta.IsStatusConditionTrue(addon.Status.Conditions, addonv1beta1.ManagedClusterAddOnConditionConfigured)
}

func (a *AgentAddon) values(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, shipped *install.Shipped) (install.Values, error) {
	place, err := a.place(addon, config, shipped)
	if err != nil {
		return install.Values{}, err
	}
	image, err := agentImage(cluster, addon, config, a.image)
	if err != nil {
		return install.Values{}, err
	}
	return install.NewValues(addon, place, config, image)
}

// place returns where the agent runs, or an error when the wanted place is refused.
func (a *AgentAddon) place(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig,
	shipped *install.Shipped) (install.Place, error) {
	place, err := install.SettlePlace(addon, config, shipped)
	if err != nil || shipped != nil && place == shipped.Place {
		return place, err
	}
	return place, a.checkNeighbours(addon, place)
}

// checkNeighbours refuses a place where the agent of another ManagedClusterAddOn runs.
func (a *AgentAddon) checkNeighbours(addon *addonv1beta1.ManagedClusterAddOn, place install.Place) error {
	works, err := a.cache.worksIn(place.Cluster(addon))
	if err != nil {
		return err
	}
	neighbours, err := install.NeighboursIn(addon, works)
	if err != nil {
		return err
	}
	return install.CheckNeighbours(addon, place, neighbours)
}

func (a *AgentAddon) shipped(addon *addonv1beta1.ManagedClusterAddOn) (*install.Shipped, error) {
	works, err := a.cache.DeployWorks(addon)
	if err != nil {
		return nil, err
	}
	return install.NewShipped(addon, works)
}

// GetAgentAddonOptions returns the add-on's options. The health prober stays nil,
// which means the agent's lease: with any prober, OCM ignores the lease.
func (a *AgentAddon) GetAgentAddonOptions() agent.AgentAddonOptions {
	return agent.AgentAddonOptions{
		AddonName:             manifests.AddonName,
		Registration:          a.registration(),
		AgentInstallNamespace: a.installNamespace,
		HostedModeEnabled:     true,
		HostedModeInfoFunc:    a.hostedModeInfo,
		SupportedConfigGVRs:   []schema.GroupVersionResource{utils.AddOnDeploymentConfigGVR},
		// An annotation of the cluster can name the registries of images.
		AgentDeployTriggerClusterFilter: func(before, after *clusterv1.ManagedCluster) bool {
			return before.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey] !=
				after.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey]
		},
		// The labels and annotations of a namespace that exists already belong to its
		// owner.
		ManifestConfigs: []workv1.ManifestConfigOption{{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "namespaces", Name: "*"},
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
			// The API server's default. Without it the framework would find every work
			// changed, and patch it, whenever the controller starts.
			FeedbackScrapeType: workv1.FeedbackPollType,
		}, plan.Feedback()},
	}
}

// hostedModeInfo returns the framework's name of the agent's mode, and its hosting
// cluster. A shipped agent stays in its mode.
//
// An earlier version may have left a finalizer of hosted mode on an add-on without a
// hosting cluster. The framework removes it only in hosted mode.
func (a *AgentAddon) hostedModeInfo(addon *addonv1beta1.ManagedClusterAddOn, _ *clusterv1.ManagedCluster) (mode, host string) {
	if install.HostingCluster(addon) == "" && !hasHostedFinalizer(addon) {
		// Its agent cannot be on a hosting cluster (install.OwnWorks). The framework asks
		// several times for each add-on that it deploys, so the works are not decoded.
		return constants.InstallModeDefault, ""
	}
	shipped, err := a.shipped(addon)
	if err != nil {
		klog.Background().Error(err, "Failed to read the shipped agent", "addon", klog.KObj(addon))
	}
	host = hostingCluster(addon, shipped)
	if host == "" && !hasLeftover(addon, shipped) {
		return constants.InstallModeDefault, ""
	}
	return constants.InstallModeHosted, host
}

// hasLeftover reports whether an add-on in default mode has a finalizer of hosted mode
// that can be removed now: nothing is shipped, or the add-on is being deleted and its
// pre-delete hook has completed.
func hasLeftover(addon *addonv1beta1.ManagedClusterAddOn, shipped *install.Shipped) bool {
	if shipped != nil && (addon.DeletionTimestamp == nil || slices.Contains(addon.Finalizers, addonv1beta1.AddonPreDeleteHookFinalizer)) {
		return false
	}
	return hasHostedFinalizer(addon)
}

func hasHostedFinalizer(addon *addonv1beta1.ManagedClusterAddOn) bool {
	return slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingPreDeleteHookFinalizer) ||
		slices.Contains(addon.Finalizers, addonv1beta1.AddonHostingManifestFinalizer)
}

// hostingCluster returns the hosting cluster of the shipped agent, or the wanted one
// where none is shipped; empty means the managed cluster itself.
func hostingCluster(addon *addonv1beta1.ManagedClusterAddOn, shipped *install.Shipped) string {
	if shipped != nil {
		return shipped.HostingCluster
	}
	return install.HostingCluster(addon)
}

// installNamespace returns the agent's namespace. OCM's registration agent writes the
// secret there and reads the lease there.
func (a *AgentAddon) installNamespace(_ context.Context, addon *addonv1beta1.ManagedClusterAddOn) (string, error) {
	shipped, err := a.shipped(addon)
	if err != nil {
		return "", err
	}
	config, err := a.cache.desiredConfig(addon)
	if shipped != nil && (addon.DeletionTimestamp != nil || errors.Is(err, install.ErrNotDesired)) {
		return shipped.Namespace, nil
	}
	if err != nil {
		return "", err
	}
	place, err := a.place(addon, config, shipped)
	return place.Namespace, err
}

// agentImage returns the agent's image: from the config's variable, else the
// controller's default. The registries of the config, else of the cluster's
// annotation, replace the image's registry.
func agentImage(cluster *clusterv1.ManagedCluster, addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig, image string) (string, error) {
	const key = "image"
	if named := install.Variable(config, install.VariableAgentImage); named != "" {
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

// settledConfig is a getter of the config that was read before.
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

// registration returns how the agent gets its identity and its rights on the hub.
func (a *AgentAddon) registration() *agent.RegistrationOption {
	return &agent.RegistrationOption{
		Configurations:   configurations,
		CSRApproveCheck:  approve,
		PermissionConfig: a.configurePermissions,
	}
}

// configurations returns the request for one client certificate from the hub's signer.
func configurations(_ context.Context, cluster *clusterv1.ManagedCluster, _ *addonv1beta1.ManagedClusterAddOn,
) ([]agent.RegistrationConfig, error) {
	return []agent.RegistrationConfig{&agent.KubeClientRegistration{
		User:   identity.User(cluster.Name),
		Groups: identity.Groups(cluster.Name),
	}}, nil
}

// approve reports whether to approve the request. It logs each decision with its
// reason, because nothing else explains a request that stays pending.
func approve(
	ctx context.Context,
	cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn,
	csr *certificatesv1.CertificateSigningRequest,
) bool {
	logger := klog.FromContext(ctx).WithValues("csr", csr.Name, "cluster", cluster.Name, "addon", manifests.AddonName)
	if err := identity.CheckCSR(csr, cluster, addon); err != nil {
		logger.Info("Did not approve a certificate signing request", "requester", csr.Spec.Username, "reason", err.Error())
		return false
	}
	logger.Info("Approving a certificate signing request", "requester", csr.Spec.Username)
	return true
}

// configurePermissions applies the rights in the cluster's namespace on the hub. It returns an error for
// a refused place, too, because the framework writes the errors of this step, and not
// those of later ones, to the condition RegistrationApplied.
func (a *AgentAddon) configurePermissions(ctx context.Context, _ *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) error {
	if err := applyBinding(ctx, a.hub, a.cache.RoleBindings, clock.RealClock{}, addon, identity.RoleBinding(addon)); err != nil {
		return err
	}
	if err := a.configureDistribution(ctx, addon); err != nil {
		return err
	}
	_, err := a.installNamespace(ctx, addon)
	return err
}

// configureDistribution grants the right of the controller of ConfigMapReplicaSets in the
// cluster's namespace, or takes it away where an earlier configuration granted it.
func (a *AgentAddon) configureDistribution(ctx context.Context, addon *addonv1beta1.ManagedClusterAddOn) error {
	if a.distributor == "" {
		return removeBinding(ctx, a.hub.RbacV1(), a.cache.ReplicaSetRoleBindings, addon.Namespace, manifests.ReplicaSetRole)
	}
	return applyBinding(ctx, a.hub, a.cache.ReplicaSetRoleBindings, clock.RealClock{}, addon, identity.ReplicaSetRoleBinding(addon, a.distributor))
}
