//go:build e2e

package lease

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// The certificate in the example's secret opens the one lease and nothing else,
// on the hub; nor has the sidecar more on its own cluster than it reads.
func accessIsDenied(t *testing.T, env *environment) {
	for i, c := range env.clusters {
		other := env.clusters[(i+1)%len(env.clusters)]
		deniedOnHub(t, env, c, other)
		deniedOnManaged(t, c)
	}
}

func deniedOnHub(t *testing.T, env *environment, c, other *cluster) {
	t.Helper()
	secret, err := c.kube.CoreV1().Secrets(example).Get(t.Context(), exampleSecret, metav1.GetOptions{})
	must(t, "get the example's secret", err)
	config := rest.AnonymousClientConfig(env.hub.config)
	config.CertData, config.KeyData = secret.Data["tls.crt"], secret.Data["tls.key"]
	kube := forConfig(t, config).kube
	own, others := kube.CoordinationV1().Leases(c.name), kube.CoordinationV1().Leases(other.name)
	_, err = own.Get(t.Context(), example, metav1.GetOptions{})
	must(t, "get the own lease: without that, a denial says nothing", err)
	lease := func(name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for what, attempt := range map[string]func(context.Context) error{
		"get the other cluster's lease": func(ctx context.Context) error {
			_, err := others.Get(ctx, example, metav1.GetOptions{})
			return err
		},
		"renew the other cluster's lease": func(ctx context.Context) error {
			_, err := others.Update(ctx, lease(example), metav1.UpdateOptions{})
			return err
		},
		"create a lease for the other cluster": func(ctx context.Context) error {
			_, err := others.Create(ctx, lease(example), metav1.CreateOptions{})
			return err
		},
		"renew another lease of the own cluster": func(ctx context.Context) error {
			_, err := own.Update(ctx, lease("managed-cluster-lease"), metav1.UpdateOptions{})
			return err
		},
		"list leases": func(ctx context.Context) error {
			_, err := own.List(ctx, metav1.ListOptions{})
			return err
		},
		"delete the own lease": func(ctx context.Context) error { return own.Delete(ctx, example, metav1.DeleteOptions{}) },
		"list ConfigMaps": func(ctx context.Context) error {
			_, err := kube.CoreV1().ConfigMaps(c.name).List(ctx, metav1.ListOptions{})
			return err
		},
		"list secrets": func(ctx context.Context) error {
			_, err := kube.CoreV1().Secrets(c.name).List(ctx, metav1.ListOptions{})
			return err
		},
	} {
		if err := attempt(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("the agent of %s, %s: want it forbidden, got %v", c.name, what, err)
		}
	}
}

func deniedOnManaged(t *testing.T, c *cluster) {
	t.Helper()
	type access = authorizationv1.ResourceAttributes
	for _, review := range []struct {
		allowed bool
		access  access
	}{
		{true, access{Verb: "watch", Resource: "secrets", Name: exampleSecret, Namespace: example}},
		{true, access{Verb: "watch", Resource: "pods", Namespace: example}},
		{true, access{Verb: "create", Resource: "events", Namespace: example}},
		{false, access{Verb: "get", Resource: "secrets", Name: "other", Namespace: example}},
		{false, access{Verb: "list", Resource: "secrets", Namespace: example}},
		{false, access{Verb: "update", Resource: "secrets", Name: exampleSecret, Namespace: example}},
		{false, access{Verb: "delete", Resource: "pods", Namespace: example}},
		{false, access{Verb: "get", Resource: "configmaps", Namespace: example}},
		{false, access{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: example}},
		{false, access{Verb: "list", Resource: "pods"}},
		{false, access{Verb: "list", Resource: "secrets"}},
	} {
		answer, err := c.kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:" + example + ":" + example,
				Groups: []string{"system:authenticated", "system:serviceaccounts"}, ResourceAttributes: &review.access},
		}, metav1.CreateOptions{})
		must(t, "review the access", err)
		if answer.Status.Allowed != review.allowed {
			t.Errorf("%s: %+v: allowed %v, want %v", c.name, review.access, answer.Status.Allowed, review.allowed)
		}
	}
}
