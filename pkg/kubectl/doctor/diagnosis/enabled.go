package diagnosis

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
)

func isEnabled(e *examination) {
	if e.AddOn != nil || e.ManagedCluster == nil || e.unread(AddOns) {
		return
	}
	message := fmt.Sprintf("the add-on is not enabled on the cluster: there is no ManagedClusterAddOn %s/%s", e.Cluster, manifests.AddonName)
	if placements := e.Hub.Placements; len(placements) > 0 {
		var steps []registration.Step
		for _, p := range placements {
			namespace, name, _ := strings.Cut(p, "/")
			steps = append(steps, step("See what the Placement selects, and give the cluster the label or cluster set that it asks for",
				e.hub("describe", "placement", "-n", namespace, name)))
		}
		e.add(NotEnabled, fmt.Sprintf("%s, and none of the Placements that enable the add-on selects the cluster: %s", message, strings.Join(placements, ", ")), steps...)
		return
	}
	manifest := fmt.Sprintf("apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: %s, namespace: %s}\nspec: {installNamespace: default}\n",
		manifests.AddonName, e.Cluster)
	e.add(NotEnabled, message, step("Enable it", "printf "+shell.Quote(strings.ReplaceAll(manifest, "\n", `\n`))+" | "+e.hub("apply", "-f", "-")))
}

// hosted looks at the hosting cluster.
func hosted(e *examination) {
	name := e.hosting()
	if name == "" || e.deleting() || e.unread(ManagedClusters) {
		return
	}
	if e.Hosting == nil {
		e.add(HostingClusterMissing, fmt.Sprintf("the hub has no ManagedCluster %s, which the annotation %s of the ManagedClusterAddOn names as the hosting cluster",
			name, addonv1beta1.HostingClusterNameAnnotationKey), step("Correct the annotation",
			e.hub("annotate", "managedclusteraddon", "-n", e.Cluster, manifests.AddonName, "--overwrite", addonv1beta1.HostingClusterNameAnnotationKey+"=CLUSTER")))
		return
	}
	if !e.Hosting.Spec.HubAcceptsClient || !isTrue(e.Hosting, clusterv1.ManagedClusterConditionAvailable) {
		e.add(HostingClusterUnavailable, fmt.Sprintf("the agent runs on the hosting cluster %s, which OCM has lost or the hub has not accepted", name),
			step("Look at that cluster", e.plugin("doctor", name)))
	}
}

// configuration looks at the AddOnDeploymentConfig, and at what the controller and OCM report of it.
func configuration(e *examination) {
	if e.AddOn == nil || e.deleting() || !e.configured() {
		return
	}
	valid := e.condition(plan.ConditionConfigurationValid)
	switch {
	case valid.Status == metav1.ConditionFalse:
		e.add(ConfigurationRefused, "the controller refuses the configuration: "+valid.Message)
	case valid.Reason == plan.ReasonPending:
		e.add(ConfigurationPending, "OCM's rollout of the configuration has not reached the cluster: "+valid.Message,
			step("See which clusters it waits for", e.plugin("status")))
	case valid.Reason == plan.ReasonPartlyIgnored:
		e.add(ConfigurationIgnored, "parts of the configuration have no effect: "+valid.Message)
	}
	if missing := e.missingConfig(); missing != "" && !e.has(ConfigurationRefused) {
		e.add(ConfigMissing, fmt.Sprintf("the ManagedClusterAddOn refers to AddOnDeploymentConfig %s, which does not exist", missing),
			step("Create it, or correct the reference", e.hub("describe", "managedclusteraddon", "-n", e.Cluster, manifests.AddonName)))
	}
	if applied := e.condition(addonv1beta1.ManagedClusterAddOnRegistrationApplied); applied.Status == metav1.ConditionFalse {
		e.add(RegistrationRefused, "the controller has not set up the agent's registration: "+applied.Message, e.controllerLog())
	}
}

// configured looks whether OCM's add-on manager has worked on the add-on, which everything waits for.
func (e *examination) configured() bool {
	condition := e.condition(addonv1alpha1.ManagedClusterAddOnConditionConfigured)
	if condition.Status == metav1.ConditionTrue {
		return true
	}
	if e.enabledFor() > settles && !e.has(NotInstalled) {
		e.add(NotConfigured, fmt.Sprintf("OCM's add-on manager has not configured the ManagedClusterAddOn (condition Configured), %s after its creation: it does not run, or an object that it needs is missing. %s",
			e.ago(e.AddOn.CreationTimestamp), condition.Message),
			step("Look at OCM's add-on manager", e.hub("logs", "-n", "open-cluster-management-hub", "deploy/cluster-manager-addon-manager-controller")))
	}
	return false
}

// missingConfig returns a config that the add-on refers to and that does not exist.
func (e *examination) missingConfig() string {
	if e.unread(Configs) {
		return ""
	}
	for _, c := range e.AddOn.Status.ConfigReferences {
		if c.Resource != "addondeploymentconfigs" || c.DesiredConfig == nil {
			continue
		}
		if name := c.DesiredConfig.Namespace + "/" + c.DesiredConfig.Name; c.DesiredConfig.Name != "" && !e.Hub.Configs[name] {
			return name
		}
	}
	return ""
}
