package ocm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "open-cluster-management.io/api/operator/v1"
)

// shortestHubTimeout is the shortest time without a hub that a Klusterlet can have, in seconds. The agents
// of a sandbox have a shorter one: see hubTimeout.
const shortestHubTimeout = 180

// klusterlet describes the agents as OCM's operator would have started them.
func (m *Managed) klusterlet() description {
	spec := operatorv1.KlusterletSpec{
		Namespace: agentNamespace, ClusterName: m.override(NameFile, m.Name),
		DeployOption: operatorv1.KlusterletDeployOption{Mode: operatorv1.InstallModeDefault},
		RegistrationConfiguration: &operatorv1.RegistrationConfiguration{
			FeatureGates:                      m.FeatureGates.list(registrationAgent),
			AddOnKubeClientRegistrationDriver: m.addonDriver(),
		},
		WorkConfiguration: &operatorv1.WorkAgentConfiguration{
			FeatureGates:                           m.FeatureGates.list(workAgent),
			StatusSyncInterval:                     &metav1.Duration{Duration: m.Agents.StatusSyncInterval},
			AppliedManifestWorkEvictionGracePeriod: &metav1.Duration{Duration: evictionGracePeriod},
		},
	}
	if m.hosted() {
		spec.DeployOption.Mode = operatorv1.InstallModeHosted
	}
	if len(m.Hubs) > 1 {
		m.severalHubs(spec.RegistrationConfiguration)
	}
	return description{kind: "Klusterlet", name: m.name, spec: &spec, conditions: []metav1.Condition{
		{Type: operatorv1.ConditionKlusterletApplied, Status: metav1.ConditionTrue,
			Reason: operatorv1.ReasonKlusterletApplied, Message: "Klusterlet Component Applied"},
		running(operatorv1.ConditionKlusterletAvailable, metav1.ConditionTrue, operatorv1.ReasonKlusterletAvailable,
			operatorv1.ReasonKlusterletNoAvailablePods, m.registration, m.work),
	}}
}

// addonDriver describes how add-ons get their credentials. It is nil for certificates, the default: OCM v1.0 has no
// field for another way.
func (m *Managed) addonDriver() *operatorv1.AddOnRegistrationDriver {
	auth, life := m.override(AuthFile, m.Agents.AddonAuth), m.Agents.AddonTokenLife
	if auth == AuthCSR && life == 0 {
		return nil
	}
	driver := &operatorv1.AddOnRegistrationDriver{AuthType: auth}
	if life > 0 {
		driver.Token = &operatorv1.TokenConfig{ExpirationSeconds: int64(life.Seconds())}
	}
	return driver
}

func (m *Managed) severalHubs(c *operatorv1.RegistrationConfiguration) {
	c.FeatureGates = append(c.FeatureGates, operatorv1.FeatureGate{Feature: multipleHubs, Mode: operatorv1.FeatureGateModeTypeEnable})
	secrets := &operatorv1.LocalSecretsConfig{HubConnectionTimeoutSeconds: shortestHubTimeout}
	for i := range m.Hubs {
		secrets.KubeConfigSecrets = append(secrets.KubeConfigSecrets, operatorv1.KubeConfigSecret{Name: m.bootstrapSecret(i)})
	}
	c.BootstrapKubeConfigs = operatorv1.BootstrapKubeConfigs{Type: operatorv1.LocalSecrets, LocalSecrets: secrets}
}

// clusterManager describes the programs of a hub as OCM's operator would have started them.
func (h *Hub) clusterManager() description {
	spec := operatorv1.ClusterManagerSpec{
		DeployOption: operatorv1.ClusterManagerDeployOption{Mode: operatorv1.InstallModeDefault},
		RegistrationConfiguration: &operatorv1.RegistrationHubConfiguration{
			FeatureGates: append(h.FeatureGates.list(registrationController),
				operatorv1.FeatureGate{Feature: autoApproval, Mode: operatorv1.FeatureGateModeTypeEnable}),
			RegistrationDrivers: []operatorv1.RegistrationDriverHub{
				{AuthType: operatorv1.CSRAuthType, CSR: &operatorv1.CSRConfig{AutoApprovedIdentities: []string{BootstrapUser}}}},
		},
		WorkConfiguration: &operatorv1.WorkConfiguration{FeatureGates: h.FeatureGates.list(workController), WorkDriver: operatorv1.WorkDriverTypeKube},
	}
	return description{kind: "ClusterManager", name: clusterManagerName, spec: &spec, conditions: []metav1.Condition{
		{Type: operatorv1.ConditionClusterManagerApplied, Status: metav1.ConditionTrue,
			Reason: operatorv1.ReasonClusterManagerApplied, Message: "Components of cluster manager are applied"},
		running(operatorv1.ConditionHubRegistrationDegraded, metav1.ConditionFalse, operatorv1.ReasonRegistrationFunctional,
			operatorv1.ReasonUnavailableRegistrationPod, h.named(registrationController, registrationWebhook)...),
		running(operatorv1.ConditionHubPlacementDegraded, metav1.ConditionFalse, operatorv1.ReasonPlacementFunctional,
			operatorv1.ReasonUnavailablePlacementPod, h.named(placementController)...),
	}}
}
