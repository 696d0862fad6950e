//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deleting the ManagedClusterAddOn takes everything away that enabling
// brought, on both sides, but not the install namespace, in which other
// people's things may be by then. The other clusters do not notice. Enabling
// it again, this time by the current API, works as the first time.
func disableAndEnable(t *testing.T, env *environment) {
	c, bystander := env.second(), env.first()
	kept := c.createForeign(t, configMap("e2e-kept", map[string]string{"owner": "another team"}))
	bindings, err := env.hubBindings(t.Context(), c)
	must(t, "list the agent's RoleBindings on the hub", err)
	if len(bindings) == 0 {
		t.Fatalf("no RoleBinding in namespace %s of the hub is the agent's: nothing to see going", c.name)
	}
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	former, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)

	// The source goes first: whether a copy outlives the agent is the
	// mirror's matter and not this scenario's.
	env.deleteSource(t, c, firstConfigMap)
	eventually(t, "the copy gone", c.hasNoCopy(firstConfigMap))
	start := time.Now()
	must(t, "disable the add-on", env.disable(t.Context(), c))
	timings.record(c.name+": disable → nothing left", time.Since(start))
	eventually(t, "the agent's permissions on the hub are gone", env.hubPermissionsGone(c, bindings))
	eventually(t, "the report on the hub is gone", env.hasNoMirror(c))
	must(t, "the foreign ConfigMap is still there", c.untouched(kept)(t.Context()))
	ns, err := c.kube.CoreV1().Namespaces().Get(t.Context(), c.installNamespace, metav1.GetOptions{})
	must(t, "the install namespace is still there", err)
	if ns.Status.Phase != corev1.NamespaceActive {
		t.Errorf("the install namespace is %s", ns.Status.Phase)
	}
	must(t, bystander.name+" keeps its agent", bystander.agentAvailable(t.Context()))
	env.settle(t, bystander)

	reach(t, env.startEnabling(t, c, "again", env.enableV1beta1))
	env.oneIdentityAgain(t, c, former)
}

// oneIdentityAgain checks that the secret has another certificate than the former
// one, and that the asking has ended; used requests may go meanwhile. It is not always one
// request: when a write of the add-on's status is refused as a conflict, the
// registration agent throws the issued certificate away and asks again.
func (e *environment) oneIdentityAgain(t *testing.T, c *cluster, former *corev1.Secret) {
	t.Helper()
	secret, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)
	if bytes.Equal(secret.Data[corev1.TLSCertKey], former.Data[corev1.TLSCertKey]) {
		t.Error("the secret still has the certificate from before")
	}

	requests, err := e.requestsOf(t.Context(), c)
	must(t, "list certificate requests", err)
	consistently(t, quiet, "the certificate requests", func(ctx context.Context) error {
		now, err := e.requestsOf(ctx, c)
		if err != nil {
			return err
		}
		if len(now) > len(requests) {
			return fmt.Errorf("there were %d, now there are %d", len(requests), len(now))
		}
		return nil
	})
}

// hubPermissionsGone checks that none of the bindings is left, no Role that
// one of them named, and no other binding of the agent.
func (e *environment) hubPermissionsGone(c *cluster, before []rbacv1.RoleBinding) check {
	return func(ctx context.Context) error {
		bindings, err := e.hubBindings(ctx, c)
		if err != nil {
			return err
		}
		var errs []error
		for i := range bindings {
			errs = append(errs, fmt.Errorf("RoleBinding %s/%s is still there", c.name, bindings[i].Name))
		}
		for i := range before {
			if before[i].RoleRef.Kind != "Role" {
				continue
			}
			name := before[i].RoleRef.Name
			_, err := e.hub.kube.RbacV1().Roles(c.name).Get(ctx, name, metav1.GetOptions{})
			errs = append(errs, gone("Role "+c.name+"/"+name, err))
		}
		return errors.Join(errs...)
	}
}
