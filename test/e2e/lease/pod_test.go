//go:build e2e

package lease

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// startPod makes a namespace of this name on the managed cluster, and in it a pod
// of this name, with the example's script and a sidecar that may read this one pod
// and this one secret, by their names, and nothing else.
func (c *cluster) startPod(t *testing.T, name string, leaseRule []rbacv1.PolicyRule, flags ...string) *corev1.Pod {
	t.Helper()
	of, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	meta := metav1.ObjectMeta{Name: name, Namespace: name}
	_, err = c.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, "create the namespace", err)
	cleanup(t, "delete the namespace", func(ctx context.Context) error {
		return c.kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	})
	_, err = c.kube.CoreV1().ServiceAccounts(name).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	must(t, "create the ServiceAccount", err)
	read := []string{"get", "list", "watch"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: append([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{name}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name + "-hub-kubeconfig"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}, leaseRule...)}
	bind(t, c.api, role, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: name})
	main, lease := of.Spec.Containers[0].DeepCopy(), of.Spec.Containers[1].DeepCopy()
	main.VolumeMounts, main.Env, lease.VolumeMounts = nil, nil, nil
	lease.Env = []corev1.EnvVar{fieldEnv("WATCH_NAMESPACE", "metadata.namespace"), fieldEnv("POD_NAMESPACE", "metadata.namespace"),
		fieldEnv("POD_NAME", "metadata.name")}
	lease.Command = append([]string{program, "-lease-name=" + name, "-lease-duration=2", "-startup-delay=0"}, flags...)
	lease.ReadinessProbe.HTTPGet.Port = intstr.FromInt32(8681)
	pod, err := c.kube.CoreV1().Pods(name).Create(t.Context(), &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		ServiceAccountName: name, SecurityContext: of.Spec.SecurityContext, Containers: []corev1.Container{*main, *lease},
	}}, metav1.CreateOptions{})
	must(t, "create the pod", err)
	return pod
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// bind creates the role and gives it to the subject.
func bind(t *testing.T, a *api, role *rbacv1.Role, subject rbacv1.Subject) {
	t.Helper()
	if subject.Kind != rbacv1.ServiceAccountKind {
		subject.APIGroup = rbacv1.GroupName
	}
	_, err := a.kube.RbacV1().Roles(role.Namespace).Create(t.Context(), role, metav1.CreateOptions{})
	must(t, "create the Role", err)
	_, err = a.kube.RbacV1().RoleBindings(role.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	must(t, "create the RoleBinding", err)
	cleanup(t, "delete the Role", func(ctx context.Context) error {
		if err := a.kube.RbacV1().RoleBindings(role.Namespace).Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return a.kube.RbacV1().Roles(role.Namespace).Delete(ctx, role.Name, metav1.DeleteOptions{})
	})
}

// leaseRules are all that the sidecar needs for its lease.
func leaseRules(name string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{name}, Verbs: []string{"get", "update"}},
	}
}
