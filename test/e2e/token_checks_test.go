//go:build e2e && token

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// goesOn checks that credentials of the driver come into use in time, that
// ConfigMaps are copied meanwhile and with them, that the agent reports with them,
// and that its pod is the same.
func (e *environment) goesOn(t *testing.T, c *cluster, running *corev1.Pod, driver, what string, start time.Time) {
	t.Helper()
	create := func() *corev1.ConfigMap {
		return e.createSource(t, c, configMap(fmt.Sprintf("e2e-token-%d", markers.Add(1)), map[string]string{"driver": driver}))
	}
	meanwhile := create()
	label := c.name + ": " + what + " → "
	reach(t, []milestone{
		{label + "a ConfigMap copied", start, c.hasCopy(meanwhile)},
		{label + "new credentials in use", start, c.uses(running, driver)},
	})
	eventually(t, "a copy with the new credentials", c.hasCopy(create()))
	eventually(t, "a report with the new credentials", e.reportsAll(c))
	if took := time.Since(start); took > goesOnWithin {
		t.Errorf("%s: the agent went on after %s, want %s", what, took, goesOnWithin)
	}
	after, err := c.kube.CoreV1().Pods(running.Namespace).Get(t.Context(), running.Name, metav1.GetOptions{})
	must(t, "get the agent's pod", err)
	if before, now := restarts(running), restarts(after); after.UID != running.UID || now != before {
		t.Errorf("the agent's pod restarted: %d restarts before, %d now", before, now)
	}
}

// reportsAll checks that the agent reports every ConfigMap on the hub as synced,
// by its number.
func (e *environment) reportsAll(c *cluster) check {
	return func(ctx context.Context) error {
		list, err := e.hub.kube.CoreV1().ConfigMaps(c.name).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name!=" + rootCAConfigMap})
		if err != nil {
			return err
		}
		n := len(list.Items)
		return e.reports(c, metav1.ConditionTrue, "Synced", fmt.Sprintf("%d of %d ConfigMaps synced", n, n))(ctx)
	}
}

// uses checks that the secret has credentials of the driver, and that the agent
// says by an event on its pod that it uses these. Each have another expiry.
func (c *cluster) uses(running *corev1.Pod, driver string) check {
	return func(ctx context.Context) error {
		secret, err := c.hubCredentials(ctx)
		if err != nil {
			return err
		}
		file, expiry := "client-certificate:", c.certificateExpiry
		if driver == driverToken {
			file, expiry = "tokenFile:", c.tokenExpiry
		}
		if !strings.Contains(string(secret.Data["kubeconfig"]), file) {
			return fmt.Errorf("the kubeconfig in secret %s has no %s", agentSecret, file)
		}
		notAfter, err := expiry(secret)
		if err != nil {
			return err
		}
		return c.announced(running, "HubConnected", "until "+notAfter.UTC().Format(time.RFC3339))(ctx)
	}
}

// certificateExpiry wants a certificate of the agent's user: after a switch the
// registration agent requests one of the ServiceAccount's user first.
func (c *cluster) certificateExpiry(secret *corev1.Secret) (time.Time, error) {
	certificate, err := parseCertificate(secret.Data[corev1.TLSCertKey])
	if err != nil {
		return time.Time{}, err
	}
	if certificate.Subject.CommonName != agentUser(c.name) {
		return time.Time{}, fmt.Errorf("the certificate is for %q, want %q", certificate.Subject.CommonName, agentUser(c.name))
	}
	return certificate.NotAfter, nil
}

func (c *cluster) tokenExpiry(secret *corev1.Secret) (time.Time, error) {
	parts := strings.Split(string(secret.Data["token"]), ".")
	if len(parts) != 3 {
		return time.Time{}, fmt.Errorf("secret %s has no JSON Web Token", agentSecret)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, err
	}
	var claims struct {
		Subject string `json:"sub"`
		Expiry  int64  `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return time.Time{}, err
	}
	if claims.Subject != agentAccountUser(c.name) {
		return time.Time{}, fmt.Errorf("the token is for %q, want %q", claims.Subject, agentAccountUser(c.name))
	}
	return time.Unix(claims.Expiry, 0), nil
}

// token is the one in the agent's secret.
func (c *cluster) token(ctx context.Context) (string, error) {
	secret, err := c.hubCredentials(ctx)
	if err != nil {
		return "", err
	}
	if len(secret.Data["token"]) == 0 {
		return "", fmt.Errorf("secret %s has no token", agentSecret)
	}
	return string(secret.Data["token"]), nil
}

// tokenConfig is a client's configuration with nothing but the token, as
// agentConfig is with the certificate.
func (e *environment) tokenConfig(token string) *rest.Config {
	config := rest.AnonymousClientConfig(e.hub.config)
	config.BearerToken = token
	return config
}

// bears checks that the hub knows the token's bearer as the cluster's agent.
func (e *environment) bears(ctx context.Context, c *cluster, token string) error {
	agent, err := apiServerFor(e.tokenConfig(token))
	if err != nil {
		return err
	}
	answer, err := agent.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if user := answer.Status.UserInfo.Username; user != agentAccountUser(c.name) {
		return fmt.Errorf("the token is of %q, want %q", user, agentAccountUser(c.name))
	}
	return nil
}

// withdrawn checks that the hub does not know the token any more.
func (e *environment) withdrawn(c *cluster, token string) check {
	return func(ctx context.Context) error {
		if err := e.bears(ctx, c, token); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("want the token refused, got %w", err)
		}
		return nil
	}
}

// reviewSelf asks the API server each case of the bearer of the client's token.
func reviewSelf(t *testing.T, agent apiServer, cases []accessCase) {
	t.Helper()
	for _, tc := range cases {
		answer, err := agent.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &tc.request},
		}, metav1.CreateOptions{})
		must(t, "ask the API server", err)
		if answer.Status.Allowed != tc.allowed {
			t.Errorf("%s: allowed is %t, want %t (%s)", describe(tc.request), answer.Status.Allowed, tc.allowed, tc.reason)
		}
	}
}

// registeredAs checks that status.registrations has the driver and its subject.
func (e *environment) registeredAs(c *cluster, driver string) check {
	subject := addonv1beta1.BaseSubject{User: agentUser(c.name), Groups: []string{agentClusterGroup(c.name), agentSharedGroup}}
	if driver == driverToken {
		subject = addonv1beta1.BaseSubject{User: agentAccountUser(c.name)}
	}
	want := []addonv1beta1.RegistrationConfig{{Type: addonv1beta1.KubeClient, KubeClient: &addonv1beta1.KubeClientConfig{
		Driver: driver, Subject: addonv1beta1.KubeClientSubject{BaseSubject: subject}}}}
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, addOn.Status.Registrations); diff != "" {
			return fmt.Errorf("status.registrations (-want +got):\n%s", diff)
		}
		return nil
	}
}

// onePod is the agent's pod.
func (c *cluster) onePod(t *testing.T) *corev1.Pod {
	t.Helper()
	pods, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	if len(pods) != 1 {
		t.Fatalf("%d pods of the agent, want 1", len(pods))
	}
	return &pods[0]
}

// agentAccountUser is the agent's user on the hub where it has a token.
func agentAccountUser(clusterName string) string {
	return "system:serviceaccount:" + clusterName + ":" + agentAccount
}
