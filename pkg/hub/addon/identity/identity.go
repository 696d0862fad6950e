// Package identity decides who an agent is on the hub: its user and groups, the
// certificate signing requests to approve and to remove, and the RoleBinding that
// grants its rights. See docs/design.md#csr and docs/design.md#hub-rbac.
//
// It is pure. Everything is computed from the cluster's name, because a managed
// cluster can write the subject in status.registrations of its ManagedClusterAddOn.
package identity

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// User returns the user name in the agent's certificate, in OCM's form for agents
// of add-ons. It belongs to one cluster.
func User(clusterName string) string {
	return clusterGroup(clusterName) + ":agent:" + manifests.AgentName
}

// ServiceAccountUser returns the agent's user name where the klusterlet has
// --addon-kubeclient-registration-auth=token. OCM names the ServiceAccount
// <add-on>-agent, in the cluster's namespace. It belongs to one cluster.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/token/token.go
func ServiceAccountUser(clusterName string) string {
	return "system:serviceaccount:" + clusterName + ":" + manifests.HubServiceAccount
}

// Groups returns the groups in the agent's certificate: the group of this cluster's
// agent, and the group that the agents of all clusters share. The shared one must
// never be a subject of a RoleBinding in a cluster's namespace.
func Groups(clusterName string) []string {
	return []string{
		clusterGroup(clusterName),
		"system:open-cluster-management:addon:" + manifests.AddonName,
	}
}

func clusterGroup(clusterName string) string {
	return "system:open-cluster-management:cluster:" + clusterName + ":addon:" + manifests.AddonName
}

// RoleBinding returns the binding of the ClusterRole manifests.HubRole to the agent
// of the add-on's cluster, in the cluster's namespace. The garbage collector
// deletes it with the add-on.
//
// The subjects are the user of the agent's certificate and the ServiceAccount for
// token-based registration. Both are the same agent, so a switch between them
// leaves no gap. The certificate's groups are not bound, because the agents of all
// clusters share one of them.
func RoleBinding(addon *addonv1beta1.ManagedClusterAddOn) *rbacv1.RoleBinding {
	return bindingOf(addon, manifests.HubRole,
		rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: User(addon.Namespace)},
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: addon.Namespace, Name: manifests.HubServiceAccount})
}

// ReplicaSetRoleBinding returns the binding of the ClusterRole manifests.ReplicaSetRole to
// the controller of ConfigMapReplicaSets in the namespace, in the namespace of the add-on's
// cluster. The garbage collector deletes it with the add-on, so that the controller may
// write only to clusters on which the add-on is enabled.
func ReplicaSetRoleBinding(addon *addonv1beta1.ManagedClusterAddOn, namespace string) *rbacv1.RoleBinding {
	return bindingOf(addon, manifests.ReplicaSetRole,
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: manifests.ManagedByReplicaSet})
}

// bindingOf returns the binding of a ClusterRole in the namespace of the add-on's cluster.
// It has the role's name and is owned by the add-on.
func bindingOf(addon *addonv1beta1.ManagedClusterAddOn, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:      role,
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
		},
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName,
			Kind:     "ClusterRole",
			Name:     role,
		},
		Subjects: subjects,
	}
}

// BoundAs reports whether the binding grants what wanted grants, with the same
// labels and owner. It ignores labels, annotations and owners that others added.
func BoundAs(binding, wanted *rbacv1.RoleBinding) bool {
	labels := maps.Clone(binding.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { _, ours := wanted.Labels[key]; return !ours })
	for _, owner := range wanted.OwnerReferences {
		owned := func(other metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(other, owner) }
		if !slices.ContainsFunc(binding.OwnerReferences, owned) {
			return false
		}
	}
	return maps.Equal(labels, wanted.Labels) && binding.RoleRef == wanted.RoleRef &&
		equality.Semantic.DeepEqual(binding.Subjects, wanted.Subjects)
}
