package addon

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Render returns the objects that run the agent with these values, in the order
// in which they are to be applied. It fails only when the embedded documents are
// broken, which a test rules out.
func Render(values Values) ([]runtime.Object, error) {
	var (
		serviceAccount corev1.ServiceAccount
		role           rbacv1.Role
		roleBinding    rbacv1.RoleBinding
		deployment     appsv1.Deployment
	)
	for _, document := range []struct {
		content []byte
		into    runtime.Object
	}{
		{manifests.AgentServiceAccountYAML, &serviceAccount},
		{manifests.AgentRoleYAML, &role},
		{manifests.AgentRoleBindingYAML, &roleBinding},
		{manifests.AgentDeploymentYAML, &deployment},
	} {
		if err := yaml.UnmarshalStrict(document.content, document.into); err != nil {
			return nil, fmt.Errorf("decode embedded %T: %w", document.into, err)
		}
	}

	serviceAccount.Namespace = values.InstallNamespace
	role.Namespace = values.InstallNamespace
	roleBinding.Namespace = values.InstallNamespace
	for i := range roleBinding.Subjects {
		roleBinding.Subjects[i].Namespace = values.InstallNamespace
	}
	setDeployment(&deployment, values)

	objects := []runtime.Object{&serviceAccount, &role, &roleBinding, &deployment}
	if !shipsNamespace(values.InstallNamespace) {
		return objects, nil
	}
	var namespace corev1.Namespace
	if err := yaml.UnmarshalStrict(manifests.AgentNamespaceYAML, &namespace); err != nil {
		return nil, fmt.Errorf("decode embedded %T: %w", &namespace, err)
	}
	namespace.Name = values.InstallNamespace
	return append([]runtime.Object{&namespace}, objects...), nil
}

// shipsNamespace says whether the add-on brings its install namespace along.
// Kubernetes' own namespaces are always there, and are nobody else's to ship.
func shipsNamespace(name string) bool {
	return name != "default" && !strings.HasPrefix(name, "kube-")
}

// setDeployment fills in what differs between clusters.
func setDeployment(deployment *appsv1.Deployment, values Values) {
	deployment.Namespace = values.InstallNamespace
	setPod(&deployment.Spec.Template.Spec, values)
	deployment.Spec.Template.Spec.Containers[0].Args = agentArgs(values)
}

// setPod fills in what is the same for all pods of the add-on.
func setPod(pod *corev1.PodSpec, values Values) {
	pod.PriorityClassName = values.PriorityClassName
	pod.Tolerations = values.Tolerations
	for key, value := range values.NodeSelector {
		if pod.NodeSelector == nil {
			pod.NodeSelector = map[string]string{}
		}
		pod.NodeSelector[key] = value
	}
	if values.ImagePullSecret != "" {
		pod.ImagePullSecrets = []corev1.LocalObjectReference{{Name: values.ImagePullSecret}}
	}

	container := &pod.Containers[0]
	container.Image = values.Image
	container.Env = append(container.Env, values.ProxyEnv...)
	if values.Resources != nil {
		container.Resources = *values.Resources
	}
}

// agentArgs are the flags of the agent that have no fitting default.
func agentArgs(values Values) []string {
	args := []string{
		argument(manifests.FlagClusterName, values.ClusterName),
		argument(manifests.FlagNamespace, values.InstallNamespace),
		argument(manifests.FlagHubKubeconfigSecret, manifests.HubKubeconfigSecret),
		argument(manifests.FlagHealthBindAddress, manifests.DefaultHealthBindAddress),
		argument(manifests.FlagPodName, "$(POD_NAME)"),
		argument(manifests.FlagPodUID, "$(POD_UID)"),
	}
	if values.LogVerbosity != "" {
		args = append(args, argument(manifests.FlagVerbosity, values.LogVerbosity))
	}
	return args
}

func argument(name, value string) string {
	return "--" + name + "=" + value
}
