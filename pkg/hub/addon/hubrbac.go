package addon

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// HubRole is what the agent of one cluster may do on the hub: read the
// ConfigMaps in its cluster's namespace, read its own add-on and report on it,
// and write events about what needs a person. It goes with the add-on.
//
// The hub controller must hold each of these rights itself, or the API server
// lets it write no such Role: deploy/base/rbac.yaml lists them too.
func HubRole(addon *addonv1beta1.ManagedClusterAddOn) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: hubObjectMeta(addon),
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{""},
				Resources: []string{"configmaps"},
				Verbs:     []string{"get", "list", "watch"},
			},
			{
				APIGroups:     []string{addonv1beta1.GroupName},
				Resources:     []string{"managedclusteraddons"},
				ResourceNames: []string{manifests.AddonName},
				Verbs:         []string{"get", "list", "watch"},
			},
			{
				APIGroups:     []string{addonv1beta1.GroupName},
				Resources:     []string{"managedclusteraddons/status"},
				ResourceNames: []string{manifests.AddonName},
				Verbs:         []string{"patch"},
			},
			{
				APIGroups: []string{""},
				Resources: []string{"events"},
				Verbs:     []string{"create", "patch"},
			},
		},
	}
}

// HubRoleBinding gives the HubRole to the agent of this one cluster, by its user
// name. The groups in the agent's certificate are no subject of it: one of them
// is shared by the agents of all clusters.
func HubRoleBinding(addon *addonv1beta1.ManagedClusterAddOn) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: hubObjectMeta(addon),
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName,
			Kind:     "Role",
			Name:     manifests.HubRole,
		},
		Subjects: []rbacv1.Subject{{
			APIGroup: rbacv1.GroupName,
			Kind:     rbacv1.UserKind,
			Name:     AgentUser(addon.Namespace),
		}},
	}
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
