package addon

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/addon-framework/pkg/agent"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// registration is how the agent gets its identity and its rights on the hub.
func (a *AgentAddon) registration() *agent.RegistrationOption {
	return &agent.RegistrationOption{
		Configurations:   configurations,
		CSRApproveCheck:  approve,
		PermissionConfig: a.configurePermissions,
	}
}

// configurations asks for one client certificate of the hub's own signer.
func configurations(_ context.Context, cluster *clusterv1.ManagedCluster, _ *addonv1beta1.ManagedClusterAddOn,
) ([]agent.RegistrationConfig, error) {
	return []agent.RegistrationConfig{&agent.KubeClientRegistration{
		User:   AgentUser(cluster.Name),
		Groups: AgentGroups(cluster.Name),
	}}, nil
}

// approve is CheckCSR as the framework calls it. Each decision is logged, with
// its reason: a request that is left pending explains itself nowhere else.
func approve(
	ctx context.Context,
	cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn,
	csr *certificatesv1.CertificateSigningRequest,
) bool {
	logger := klog.FromContext(ctx).WithValues("csr", csr.Name, "cluster", cluster.Name, "addon", manifests.AddonName)
	if err := CheckCSR(csr, cluster, addon); err != nil {
		logger.Info("Did not approve a certificate signing request", "requester", csr.Spec.Username, "reason", err.Error())
		return false
	}
	logger.Info("Approving a certificate signing request", "requester", csr.Spec.Username)
	return true
}

// configurePermissions applies the agent's rights on the hub. A place for the
// agent that is refused is an error here too, because the framework shows an error
// of this step, and not of the later ones, in the add-on's condition
// RegistrationApplied.
func (a *AgentAddon) configurePermissions(ctx context.Context, _ *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn) error {
	if err := applyHubRBAC(ctx, a.hub, a.cache.RoleBindings, clock.RealClock{}, addon); err != nil {
		return err
	}
	_, err := a.installNamespace(ctx, addon)
	return err
}
