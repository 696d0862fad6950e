package install

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// managedKubeconfigDir is the directory of ManagedKubeconfigSecret in the pod.
const managedKubeconfigDir = "/managed"

// embedded returns the embedded documents, decoded. Callers copy them before they change them. They are decoded once, because
// decoding them in each reconcile took a quarter of the controller's processor time when the add-on was enabled on many clusters.
var embedded = sync.OnceValues(decodeEmbedded)

// documents are the embedded documents of package manifests.
type documents struct {
	agent  objectSet
	marker rbacv1.PolicyRule
	hook   *batchv1.Job
}

func decodeEmbedded() (documents, error) {
	decoded := documents{hook: &batchv1.Job{}, agent: objectSet{
		namespace: &corev1.Namespace{}, serviceAccount: &corev1.ServiceAccount{}, role: &rbacv1.Role{},
		roleBinding: &rbacv1.RoleBinding{}, eventRole: &rbacv1.Role{}, eventRoleBinding: &rbacv1.RoleBinding{},
		deployment: &appsv1.Deployment{},
	}}
	for _, document := range []struct {
		content []byte
		into    any
	}{
		{manifests.AgentNamespaceYAML, decoded.agent.namespace},
		{manifests.AgentServiceAccountYAML, decoded.agent.serviceAccount},
		{manifests.AgentRoleYAML, decoded.agent.role},
		{manifests.AgentRoleBindingYAML, decoded.agent.roleBinding},
		{manifests.AgentEventRoleYAML, decoded.agent.eventRole},
		{manifests.AgentEventRoleBindingYAML, decoded.agent.eventRoleBinding},
		{manifests.AgentDeploymentYAML, decoded.agent.deployment},
		{manifests.HostedMarkerRuleYAML, &decoded.marker},
		{manifests.UninstallJobYAML, decoded.hook},
	} {
		if err := yaml.UnmarshalStrict(document.content, document.into); err != nil {
			return documents{}, fmt.Errorf("decode embedded %T: %w", document.into, err)
		}
	}
	return decoded, nil
}

// Render returns the objects that run the agent with these values, in the order to
// apply them. It fails only on an invalid embedded document, which a test excludes.
func Render(values Values) ([]runtime.Object, error) {
	decoded, err := embedded()
	if err != nil {
		return nil, err
	}
	set := decoded.agent.deepCopy()
	set.setNamespace(values.InstallNamespace)
	setDeployment(set.deployment, values)
	if values.Hosted {
		return hostedObjects(set, *decoded.marker.DeepCopy()), nil
	}
	return set.objects(), nil
}

// objectSet holds the objects that run the agent; those that are not shipped are
// nil.
type objectSet struct {
	namespace        *corev1.Namespace
	serviceAccount   *corev1.ServiceAccount
	role             *rbacv1.Role
	roleBinding      *rbacv1.RoleBinding
	eventRole        *rbacv1.Role
	eventRoleBinding *rbacv1.RoleBinding
	deployment       *appsv1.Deployment
}

func (s *objectSet) deepCopy() objectSet {
	return objectSet{
		namespace: s.namespace.DeepCopy(), serviceAccount: s.serviceAccount.DeepCopy(), role: s.role.DeepCopy(),
		roleBinding: s.roleBinding.DeepCopy(), eventRole: s.eventRole.DeepCopy(), eventRoleBinding: s.eventRoleBinding.DeepCopy(),
		deployment: s.deployment.DeepCopy(),
	}
}

// setNamespace sets the install namespace of the objects.
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

// objects returns the shipped objects in the order to apply them.
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

// shipsNamespace reports whether the add-on creates its install namespace. default
// and the namespaces of Kubernetes exist on every cluster.
func shipsNamespace(name string) bool {
	return name != "default" && !strings.HasPrefix(name, "kube-")
}

// setDeployment sets the values in the agent's Deployment.
func setDeployment(deployment *appsv1.Deployment, values Values) {
	deployment.Namespace = values.InstallNamespace
	// Written even when empty: the work agent merges annotations and removes none, so
	// otherwise the previous hash would stay.
	deployment.Annotations = map[string]string{manifests.ConfigHashAnnotation: values.ConfigHash}
	setPod(&deployment.Spec.Template.Spec, values)
	deployment.Spec.Template.Spec.Containers[0].Args = agentArgs(values)
}

// setPod sets the values in a pod of the add-on, the agent's or the hook's.
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

// agentArgs returns the agent's flags, except those whose defaults fit.
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

// onHosting annotates objects for the hosting cluster. addon-framework applies the
// others on the managed cluster.
func onHosting(objects ...metav1.Object) {
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[addonv1beta1.HostedManifestLocationAnnotationKey] = addonv1beta1.HostedManifestLocationHostingValue
		object.SetAnnotations(annotations)
	}
}

// IsOnHosting reports whether the object is for the hosting cluster.
func IsOnHosting(object metav1.Object) bool {
	return object.GetAnnotations()[addonv1beta1.HostedManifestLocationAnnotationKey] == addonv1beta1.HostedManifestLocationHostingValue
}

// hostedObjects returns the objects of hosted mode, in the order to apply them, made
// from those of default mode. The agent runs on the hosting cluster and reaches the
// managed one with the kubeconfig in ManagedKubeconfigSecret. Both clusters have the
// ServiceAccount and the bindings, and each has its part of the Role. marker is a further
// rule for the managed cluster.
func hostedObjects(set objectSet, marker rbacv1.PolicyRule) []runtime.Object {
	hosting := objectSet{
		namespace: set.namespace.DeepCopy(), serviceAccount: set.serviceAccount.DeepCopy(), role: set.role.DeepCopy(),
		roleBinding: set.roleBinding.DeepCopy(), eventRole: set.eventRole, eventRoleBinding: set.eventRoleBinding,
		deployment: set.deployment,
	}
	// The agent's events are about its pod, which is on the hosting cluster.
	set.eventRole, set.eventRoleBinding, set.deployment = nil, nil, nil
	set.role.Rules, hosting.role.Rules = splitRules(set.role.Rules)
	set.role.Rules = append(set.role.Rules, marker)
	onHosting(hosting.serviceAccount, hosting.role, hosting.roleBinding, hosting.eventRole, hosting.eventRoleBinding, hosting.deployment)
	if hosting.namespace != nil {
		onHosting(hosting.namespace)
	}
	return append(set.objects(), hosting.objects()...)
}

// splitRules returns the rules for the managed cluster, which are those about the
// copies, and the other rules, which are for the hosting cluster.
func splitRules(rules []rbacv1.PolicyRule) (managed, hosting []rbacv1.PolicyRule) {
	for _, rule := range rules {
		if len(rule.Resources) == 1 && rule.Resources[0] == "configmaps" {
			managed = append(managed, rule)
		} else {
			hosting = append(hosting, rule)
		}
	}
	return managed, hosting
}

// mountManagedKubeconfig mounts the kubeconfig of the managed cluster in hosted mode.
// The pod does not start before the Secret exists.
func mountManagedKubeconfig(pod *corev1.PodSpec, values Values) {
	if !values.Hosted {
		return
	}
	const volume = "managed-kubeconfig"
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: manifests.ManagedKubeconfigSecret}}})
	container := &pod.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: managedKubeconfigDir, ReadOnly: true})
}

// hostedArgs returns the flags of hosted mode; none in default mode.
func hostedArgs(values Values) []string {
	if !values.Hosted {
		return nil
	}
	return []string{
		argument(manifests.FlagHosted, "true"),
		argument(manifests.FlagKubeconfig, managedKubeconfigDir+"/"+manifests.ManagedKubeconfigKey),
	}
}

// RenderHook returns the pre-delete hook: the Job that removes the copies, which
// addon-framework runs while the add-on is deleted (docs/design.md#uninstall).
//
// Its name has a hash of the Job and of the add-on's UID. So an earlier add-on's
// completed Job never counts for this one, and a Job that has to change, which
// Kubernetes does not allow, gets another name.
func RenderHook(values Values) (*batchv1.Job, error) {
	decoded, err := embedded()
	if err != nil {
		return nil, err
	}
	job := decoded.hook.DeepCopy()
	job.Namespace = values.InstallNamespace
	setPod(&job.Spec.Template.Spec, values)
	if values.Hosted {
		onHosting(job)
	}
	job.Spec.Template.Spec.Containers[0].Args = hookArgs(values)
	content, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encode Job %s: %w", job.Name, err)
	}
	hash := fnv.New32a()
	// Write of a hash never returns an error.
	_, _ = hash.Write(content)
	job.Name = fmt.Sprintf("%s-%08x", manifests.UninstallJob, hash.Sum32())
	return job, nil
}

func hookArgs(values Values) []string {
	args := []string{
		argument(manifests.FlagClusterName, values.ClusterName),
		argument(manifests.FlagNamespace, values.InstallNamespace),
		argument(manifests.FlagHubKubeconfigSecret, manifests.HubKubeconfigSecret),
		argument(manifests.FlagAddOnUID, string(values.AddOnUID)),
	}
	if values.Hosted {
		args = append(args, hostedArgs(values)...)
	} else {
		args = append(args, argument(manifests.FlagJobName, "$(JOB_NAME)"), argument(manifests.FlagJobUID, "$(JOB_UID)"))
	}
	if values.LogVerbosity != "" {
		args = append(args, argument(manifests.FlagVerbosity, values.LogVerbosity))
	}
	return args
}

// HookValues returns the values for the hook of an add-on that is being deleted and
// whose agent is not shipped, for example because a user deleted its ManifestWork.
// The copies are in the namespace of the status. It is used even where WantedPlace
// refuses it: otherwise the add-on could never be deleted.
func HookValues(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig, image string) (Values, error) {
	place := Place{HostingCluster: HostingCluster(addon), Namespace: addon.Status.Namespace}
	if place.Namespace == "" {
		wanted, err := WantedPlace(addon, config)
		if err != nil {
			return Values{}, err
		}
		place = wanted
	}
	// The managed cluster can write the status, and must not choose a namespace of the
	// hosting cluster by it.
	if place.HostingCluster != "" {
		if err := checkHostedNamespace(addon, place.Namespace); err != nil {
			return Values{}, err
		}
	}
	return NewValues(addon, place, config, image)
}
