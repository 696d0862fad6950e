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
	set := objectSet{
		namespace: &corev1.Namespace{}, serviceAccount: &corev1.ServiceAccount{}, role: &rbacv1.Role{},
		roleBinding: &rbacv1.RoleBinding{}, eventRole: &rbacv1.Role{}, eventRoleBinding: &rbacv1.RoleBinding{},
		deployment: &appsv1.Deployment{},
	}
	for _, document := range []struct {
		content []byte
		into    runtime.Object
	}{
		{manifests.AgentNamespaceYAML, set.namespace},
		{manifests.AgentServiceAccountYAML, set.serviceAccount},
		{manifests.AgentRoleYAML, set.role},
		{manifests.AgentRoleBindingYAML, set.roleBinding},
		{manifests.AgentEventRoleYAML, set.eventRole},
		{manifests.AgentEventRoleBindingYAML, set.eventRoleBinding},
		{manifests.AgentDeploymentYAML, set.deployment},
	} {
		if err := yaml.UnmarshalStrict(document.content, document.into); err != nil {
			return nil, fmt.Errorf("decode embedded %T: %w", document.into, err)
		}
	}

	set.setNamespace(values.InstallNamespace)
	setDeployment(set.deployment, values)
	if values.Hosted {
		return hostedObjects(set)
	}
	return set.objects(), nil
}

// objectSet are the objects that run the agent; nil are those that are not
// shipped.
type objectSet struct {
	namespace        *corev1.Namespace
	serviceAccount   *corev1.ServiceAccount
	role             *rbacv1.Role
	roleBinding      *rbacv1.RoleBinding
	eventRole        *rbacv1.Role
	eventRoleBinding *rbacv1.RoleBinding
	deployment       *appsv1.Deployment
}

// setNamespace puts the objects into the install namespace.
func (s *objectSet) setNamespace(name string) {
	s.serviceAccount.Namespace, s.role.Namespace, s.roleBinding.Namespace = name, name, name
	s.eventRole.Namespace, s.eventRoleBinding.Namespace = name, name
	for _, binding := range []*rbacv1.RoleBinding{s.roleBinding, s.eventRoleBinding} {
		for i := range binding.Subjects {
			binding.Subjects[i].Namespace = name
		}
	}
	if s.namespace.Name = name; !shipsNamespace(name) {
		s.namespace = nil
	}
}

// objects are those that are shipped, in the order in which they are to be
// applied.
func (s *objectSet) objects() []runtime.Object {
	var objects []runtime.Object
	if s.namespace != nil {
		objects = append(objects, s.namespace)
	}
	objects = append(objects, s.serviceAccount, s.role, s.roleBinding)
	if s.eventRole != nil {
		objects = append(objects, s.eventRole, s.eventRoleBinding)
	}
	if s.deployment != nil {
		objects = append(objects, s.deployment)
	}
	return objects
}

// shipsNamespace says whether the add-on brings its install namespace along.
// Kubernetes' own namespaces are always there, and are nobody else's to ship.
func shipsNamespace(name string) bool {
	return name != "default" && !strings.HasPrefix(name, "kube-")
}

// setDeployment fills in what differs between clusters.
func setDeployment(deployment *appsv1.Deployment, values Values) {
	deployment.Namespace = values.InstallNamespace
	// Also where it is empty: the work agent merges annotations and removes none, so
	// that one that is not written keeps the hash of before.
	deployment.Annotations = map[string]string{manifests.ConfigHashAnnotation: values.ConfigHash}
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

	mountManagedKubeconfig(pod, values)
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
	args = append(args, hostedArgs(values)...)
	if values.DeletionHold != "" {
		args = append(args, argument(manifests.FlagDeletionHold, values.DeletionHold))
	}
	if values.LogVerbosity != "" {
		args = append(args, argument(manifests.FlagVerbosity, values.LogVerbosity))
	}
	return args
}

func argument(name, value string) string {
	return "--" + name + "=" + value
}
