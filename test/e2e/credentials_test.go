//go:build e2e

package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
)

// Requests with the certificate of the agent's Secret are allowed no more than the
// agent (docs/design.md#hub-rbac): the same rules as by access reviews, with real
// requests.
func realCertificateIsDenied(t *testing.T, env *environment) {
	for i, c := range env.clusters {
		other := env.clusters[(i+1)%len(env.clusters)]
		config, err := env.agentConfig(t.Context(), c)
		must(t, "take the agent's certificate", err)
		agent, err := apiServerFor(config)
		must(t, "create a client with it", err)
		addons, err := addonclient.NewForConfig(config)
		must(t, "create an add-on client with it", err)

		_, err = agent.kube.CoreV1().ConfigMaps(c.name).List(t.Context(), metav1.ListOptions{})
		must(t, "list the cluster's own ConfigMaps: without that, a denial says nothing", err)
		for _, attempt := range forbidden(agent, addons, c.name, other.name) {
			if err := attempt.do(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("the agent of %s, %s: want it forbidden, got %v", c.name, attempt.name, err)
			}
		}
	}
}

type attempt struct {
	name string
	do   func(context.Context) error
}

// forbidden are requests that a client with the agent's certificate tries.
func forbidden(agent apiServer, addons addonclient.Interface, own, other string) []attempt {
	core := agent.kube.CoreV1()
	status := []byte(`{"status":{"conditions":[]}}`)
	patchStatus := func(ctx context.Context, namespace, name string) error {
		_, err := addons.AddonV1beta1().ManagedClusterAddOns(namespace).
			Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	}
	return []attempt{
		{"list the other cluster's ConfigMaps", func(ctx context.Context) error {
			_, err := core.ConfigMaps(other).List(ctx, metav1.ListOptions{})
			return err
		}},
		{"watch the other cluster's ConfigMaps", func(ctx context.Context) error {
			w, err := core.ConfigMaps(other).Watch(ctx, metav1.ListOptions{})
			if err == nil {
				w.Stop()
			}
			return err
		}},
		{"get one ConfigMap of the other cluster", func(ctx context.Context) error {
			_, err := core.ConfigMaps(other).Get(ctx, rootCAConfigMap, metav1.GetOptions{})
			return err
		}},
		{"list the ConfigMaps of all namespaces", func(ctx context.Context) error {
			_, err := core.ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
			return err
		}},
		{"list the secrets in its own namespace", func(ctx context.Context) error {
			_, err := core.Secrets(own).List(ctx, metav1.ListOptions{})
			return err
		}},
		{"create a ConfigMap on the hub", func(ctx context.Context) error {
			_, err := core.ConfigMaps(own).Create(ctx, configMap("e2e-stolen", nil), metav1.CreateOptions{})
			return err
		}},
		{"update a ConfigMap on the hub", func(ctx context.Context) error {
			_, err := core.ConfigMaps(own).Update(ctx, configMap(firstConfigMap, nil), metav1.UpdateOptions{})
			return err
		}},
		{"delete a ConfigMap on the hub", func(ctx context.Context) error {
			return core.ConfigMaps(own).Delete(ctx, firstConfigMap, metav1.DeleteOptions{})
		}},
		{"write another add-on's status", func(ctx context.Context) error { return patchStatus(ctx, own, "other") }},
		{"write the other cluster's add-on status", func(ctx context.Context) error { return patchStatus(ctx, other, addonName) }},
		{"disable the add-on", func(ctx context.Context) error {
			return addons.AddonV1beta1().ManagedClusterAddOns(own).Delete(ctx, addonName, metav1.DeleteOptions{})
		}},
	}
}

// agentConfig is a client's configuration with nothing but the agent's own
// certificate. The server is the one of the hub's kubeconfig: the address in
// the secret need not be reachable from where the suite runs.
func (e *environment) agentConfig(ctx context.Context, c *cluster) (*rest.Config, error) {
	secret, err := c.hubCredentials(ctx)
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(e.hub.config)
	config.CertData = secret.Data[corev1.TLSCertKey]
	config.KeyData = secret.Data[corev1.TLSPrivateKeyKey]
	return config, nil
}

// A permission of the group that the agents of all clusters share would be every
// cluster's permission (docs/design.md#hub-rbac).
func sharedGroupHasNothing(t *testing.T, env *environment) {
	roleBindings, err := env.hub.kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	must(t, "list RoleBindings", err)
	for i := range roleBindings.Items {
		if b := &roleBindings.Items[i]; bindsGroup(b.Subjects, agentSharedGroup) {
			t.Errorf("RoleBinding %s/%s gives every cluster's agent %s", b.Namespace, b.Name, b.RoleRef.Name)
		}
	}
	clusterRoleBindings, err := env.hub.kube.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	must(t, "list ClusterRoleBindings", err)
	for i := range clusterRoleBindings.Items {
		if b := &clusterRoleBindings.Items[i]; bindsGroup(b.Subjects, agentSharedGroup) {
			t.Errorf("ClusterRoleBinding %s gives every cluster's agent %s", b.Name, b.RoleRef.Name)
		}
	}
}

func bindsGroup(subjects []rbacv1.Subject, group string) bool {
	for _, s := range subjects {
		if s.Kind == rbacv1.GroupKind && s.Name == group {
			return true
		}
	}
	return false
}

// hubBindings are the RoleBindings in the cluster's namespace on the hub that
// give this cluster's agent a permission.
func (e *environment) hubBindings(ctx context.Context, c *cluster) ([]rbacv1.RoleBinding, error) {
	list, err := e.hub.kube.RbacV1().RoleBindings(c.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var bindings []rbacv1.RoleBinding
	for _, b := range list.Items {
		for _, s := range b.Subjects {
			if s.Name == agentUser(c.name) || s.Name == agentClusterGroup(c.name) {
				bindings = append(bindings, b)
				break
			}
		}
	}
	return bindings, nil
}
