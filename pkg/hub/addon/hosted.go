package addon

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Hosted mode, as OCM has it: the ManagedClusterAddOn's annotation names another
// managed cluster of the hub, the hosting cluster. The agent runs there, in a
// namespace of the install namespace's name, with the lease and the credentials
// for the hub, where OCM's registration agent of a klusterlet in hosted mode
// expects both. The copies are on the managed cluster, which the agent reaches by
// a kubeconfig that whoever sets this up provides.

// managedKubeconfigDir is where the agent's pod has ManagedKubeconfigSecret.
const managedKubeconfigDir = "/managed"

// HostingCluster is the cluster on which the agent is to run instead of the
// managed one; empty in default mode. An annotation without a value is none, as
// for OCM's registration agent (pkg/registration/spoke/addon,
// isAddonRunningOutsideManagedCluster).
func HostingCluster(addon *addonv1beta1.ManagedClusterAddOn) string {
	return addon.Annotations[addonv1beta1.HostingClusterNameAnnotationKey]
}

func hosted(addon *addonv1beta1.ManagedClusterAddOn) bool { return HostingCluster(addon) != "" }

// checkHostedNamespace refuses namespaces that the hosting cluster has for
// something else. OCM fixes the names of the lease and of the secret, so that two
// agents cannot share a namespace: the hosting cluster's own agent, and those of
// the clusters that it hosts, need one each.
func checkHostedNamespace(addon *addonv1beta1.ManagedClusterAddOn, namespace string) error {
	if !hosted(addon) || (shipsNamespace(namespace) && namespace != manifests.DefaultInstallNamespace) {
		return nil
	}
	return fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s cannot be used in hosted mode: "+
		"name one for this cluster alone, such as %q, because the hosting cluster %s has agents of other clusters",
		namespace, addon.Namespace, addon.Name, "klusterlet-"+addon.Namespace, HostingCluster(addon))
}

// onHosting marks objects for the hosting cluster; what is not marked goes to the
// managed one.
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

// isOnHosting reports whether onHosting has marked the object.
func isOnHosting(object metav1.Object) bool {
	return object.GetAnnotations()[addonv1beta1.HostedManifestLocationAnnotationKey] == addonv1beta1.HostedManifestLocationHostingValue
}

// hostedObjects are the objects of hosted mode, in the order in which they are to
// be applied, made of those of default mode: the ServiceAccount and the bindings
// are on both clusters, and each has its part of the Role.
func hostedObjects(set objectSet) ([]runtime.Object, error) {
	hosting := objectSet{
		namespace: set.namespace.DeepCopy(), serviceAccount: set.serviceAccount.DeepCopy(), role: set.role.DeepCopy(),
		roleBinding: set.roleBinding.DeepCopy(), eventRole: set.eventRole, eventRoleBinding: set.eventRoleBinding,
		deployment: set.deployment,
	}
	// The events are about the agent's pod.
	set.eventRole, set.eventRoleBinding, set.deployment = nil, nil, nil
	var marker rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict(manifests.HostedMarkerRuleYAML, &marker); err != nil {
		return nil, fmt.Errorf("decode embedded %T: %w", &marker, err)
	}
	set.role.Rules, hosting.role.Rules = splitRules(set.role.Rules)
	set.role.Rules = append(set.role.Rules, marker)
	onHosting(hosting.serviceAccount, hosting.role, hosting.roleBinding, hosting.eventRole, hosting.eventRoleBinding, hosting.deployment)
	if hosting.namespace != nil {
		onHosting(hosting.namespace)
	}
	return append(set.objects(), hosting.objects()...), nil
}

// splitRules are the rules for the managed cluster, those about the copies, and
// the others, for the cluster where the agent runs.
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

// mountManagedKubeconfig gives a pod the kubeconfig of the managed cluster, and
// does nothing in default mode. A pod waits for the Secret until it is there.
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

// hostedArgs are the flags of hosted mode; none in default mode.
func hostedArgs(values Values) []string {
	if !values.Hosted {
		return nil
	}
	return []string{
		argument(manifests.FlagHosted, "true"),
		argument(manifests.FlagKubeconfig, managedKubeconfigDir+"/"+manifests.ManagedKubeconfigKey),
	}
}
