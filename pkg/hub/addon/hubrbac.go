package addon

import (
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// HubRoleBinding gives the rights of the ClusterRole manifests.HubRole, which is
// deployed with the controller, to the agent of this one cluster in the
// cluster's namespace. It goes with the add-on.
//
// The subjects are the user of the agent's certificate and the ServiceAccount
// that the agent has where OCM's registration agent uses tokens. Both are the
// same agent of the same cluster, so that a switch between them leaves no gap.
// They are computed here, because the managed cluster may write the subject in
// status.registrations. The groups in the certificate are no subject: one of
// them is shared by the agents of all clusters.
func HubRoleBinding(addon *addonv1beta1.ManagedClusterAddOn) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: hubObjectMeta(addon),
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName,
			Kind:     "ClusterRole",
			Name:     manifests.HubRole,
		},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: AgentUser(addon.Namespace)},
			{Kind: rbacv1.ServiceAccountKind, Namespace: addon.Namespace, Name: manifests.HubServiceAccount},
		},
	}
}

// boundAs reports whether the binding has what wanted asks for. Labels,
// annotations and owners that others add do not matter.
func boundAs(binding, wanted *rbacv1.RoleBinding) bool {
	labels := maps.Clone(binding.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { _, ours := wanted.Labels[key]; return !ours })
	for _, owner := range wanted.OwnerReferences {
		if !hasOwner(binding, owner) {
			return false
		}
	}
	return maps.Equal(labels, wanted.Labels) && binding.RoleRef == wanted.RoleRef &&
		equality.Semantic.DeepEqual(binding.Subjects, wanted.Subjects)
}

func hasOwner(binding *rbacv1.RoleBinding, wanted metav1.OwnerReference) bool {
	for _, owner := range binding.OwnerReferences {
		if equality.Semantic.DeepEqual(owner, wanted) {
			return true
		}
	}
	return false
}

// hubObjectMeta ties the object to the add-on, so that Kubernetes collects it
// when the add-on is deleted.
func hubObjectMeta(addon *addonv1beta1.ManagedClusterAddOn) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      manifests.HubRole,
		Namespace: addon.Namespace,
		Labels: map[string]string{
			"app.kubernetes.io/part-of":    "helloworld-addon",
			"app.kubernetes.io/managed-by": manifests.ControllerName,
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: addonv1beta1.GroupVersion.String(),
			Kind:       "ManagedClusterAddOn",
			Name:       addon.Name,
			UID:        addon.UID,
		}},
	}
}
