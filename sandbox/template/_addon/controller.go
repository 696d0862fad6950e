package main

import (
	"context"
	"embed"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"open-cluster-management.io/addon-framework/pkg/addonfactory"
	"open-cluster-management.io/addon-framework/pkg/addonmanager"
	"open-cluster-management.io/addon-framework/pkg/agent"
	"open-cluster-management.io/addon-framework/pkg/utils"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// manifests are applied on each managed cluster. Beside the values of values, they have those of the
// framework: ClusterName, AddonInstallNamespace, HubKubeConfigSecret and a few more.
//
//go:embed manifests
var manifests embed.FS

// runController installs the agent on each cluster with a ManagedClusterAddOn. The variable IMAGE is the
// agent's image. KUBECONFIG is that of the hub; without it, it runs in a pod of the hub.
func runController(ctx context.Context, getenv func(string) string) error {
	image := getenv("IMAGE")
	if image == "" {
		return errors.New("the variable IMAGE is not set: set it to the image of the agent")
	}
	config, err := clientcmd.BuildConfigFromFlags("", getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client of the hub: %w", err)
	}
	values := func(*clusterv1.ManagedCluster, *addonv1beta1.ManagedClusterAddOn) (addonfactory.Values, error) {
		return addonfactory.Values{"Image": image}, nil
	}
	// part of the user's name that the agent has on the hub. With a name that changes at each start of the controller, each
	// agent would request a new certificate
	const agentName = name + "-agent"
	addon, err := addonfactory.NewAgentAddonFactory(name, manifests, "manifests").
		WithGetValuesFuncs(values).
		WithAgentRegistrationOption(&agent.RegistrationOption{
			Configurations:   agent.KubeClientSignerConfigurations(name, agentName),
			CSRApproveCheck:  utils.DefaultCSRApprover(agentName),
			PermissionConfig: utils.NewRBACPermissionConfigBuilder(client).BindKubeClientRole(hubRole()).Build(),
		}).
		// the add-on is available while the Deployment in manifests/agent.yaml is
		WithAgentHealthProber(&agent.HealthProber{Type: agent.HealthProberTypeDeploymentAvailability}).
		BuildTemplateAgentAddon()
	if err != nil {
		return fmt.Errorf("read the agent's manifests: %w", err)
	}
	manager, err := addonmanager.New(config)
	if err != nil {
		return fmt.Errorf("create the add-on manager: %w", err)
	}
	if err := manager.AddAgent(addon); err != nil {
		return fmt.Errorf("add the add-on: %w", err)
	}
	if err := manager.Start(ctx); err != nil {
		return fmt.Errorf("start the add-on manager: %w", err)
	}
	<-ctx.Done()
	return nil
}

// hubRole is what the agent may do on the hub, in its cluster's namespace. The controller can only give what
// it has itself: see deploy/controller.yaml.
func hubRole() *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}},
		},
	}
}
