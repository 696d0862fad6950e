//go:build e2e

package lease

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const byHand = "lease-by-hand"

// hand is a pod whose secret only the test writes.
type hand struct {
	env      *environment
	cluster  *cluster
	renewals *record
	template *clientcmdapi.Config
}

// Whatever is wrong with the secret, or with what it leads to, is named by an
// Event on the pod, and over as soon as it is right again: the sidecar is never
// restarted. Every form of credentials works.
func badSecrets(t *testing.T, env *environment) {
	c := env.clusters[1]
	h := &hand{env: env, cluster: c, renewals: follow(t, env.hub, c.name, byHand), template: exampleKubeconfig(t, c)}
	before := c.startPod(t, byHand, nil, "-lease-namespace="+c.name)
	h.names(t, "SecretMissing", before.CreationTimestamp.Time)
	eventually(t, "alive, and not ready", func(ctx context.Context) error {
		pod, err := c.kube.CoreV1().Pods(byHand).Get(ctx, byHand, metav1.GetOptions{})
		if err == nil && (isReady(pod) || len(pod.Status.ContainerStatuses) < 2 || pod.Status.ContainerStatuses[0].State.Running == nil) {
			err = errNotYet
		}
		return err
	})

	token := h.kubeconfig(t, func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { user.Token = h.token(t) })
	start := time.Now()
	h.put(t, map[string][]byte{"kubeconfig": token})
	h.names(t, "LeaseForbidden", start)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: byHand, Namespace: c.name}, Rules: leaseRules(byHand)}
	bind(t, env.hub, role, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: byHand, Namespace: c.name})
	h.renews(t, "with a token, once it has the right")

	old, oldKey := expired(t)
	files := func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.ClientCertificate, user.ClientKey = "tls.crt", "tls.key"
	}
	for _, bad := range []struct {
		reason string
		data   map[string][]byte
	}{
		{"KubeconfigMissing", map[string][]byte{"other": token}},
		{"KubeconfigInvalid", map[string][]byte{"kubeconfig": []byte("{")}},
		{"CertificateExpired", map[string][]byte{"kubeconfig": h.kubeconfig(t, files), "tls.crt": old, "tls.key": oldKey}},
		{"CredentialsMissing", map[string][]byte{"kubeconfig": h.kubeconfig(t, files)}},
		{"LeaseUnauthorized", map[string][]byte{"kubeconfig": h.kubeconfig(t, func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { user.Token = "unknown" })}},
		{"ServerUntrusted", map[string][]byte{"kubeconfig": h.kubeconfig(t, func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			cluster.CertificateAuthorityData, user.Token = old, "unknown"
		})}},
		{"ServerUnreachable", map[string][]byte{"kubeconfig": h.kubeconfig(t, func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			cluster.Server, user.Token = "https://127.0.0.1:1", "unknown"
		})}},
	} {
		start := time.Now()
		h.put(t, bad.data)
		h.names(t, bad.reason, start)
		h.put(t, map[string][]byte{"kubeconfig": token})
		h.renews(t, "after "+bad.reason)
	}
	h.everyForm(t, c)

	after, err := c.kube.CoreV1().Pods(byHand).Get(t.Context(), byHand, metav1.GetOptions{})
	must(t, "get the pod", err)
	if before.UID != after.UID || restarts(after) != 0 {
		t.Errorf("the sidecar was restarted %d times", restarts(after))
	}
}

// everyForm has the same right by certificate: inlined, as files beside the
// kubeconfig, and after the secret was deleted and created with the same content.
func (h *hand) everyForm(t *testing.T, c *cluster) {
	t.Helper()
	certificate, key := h.env.issue(t, pkix.Name{CommonName: byHand})
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: byHand + "-user", Namespace: c.name}, Rules: leaseRules(byHand)}
	bind(t, h.env.hub, role, rbacv1.Subject{Kind: rbacv1.UserKind, Name: byHand})
	h.put(t, map[string][]byte{"kubeconfig": h.kubeconfig(t, func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.ClientCertificateData, user.ClientKeyData = certificate, key
	})})
	h.renews(t, "with inlined data")
	data := map[string][]byte{"tls.crt": certificate, "tls.key": key, "kubeconfig": h.kubeconfig(t,
		func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.ClientCertificate, user.ClientKey = "tls.crt", "tls.key"
		})}
	h.put(t, data)
	h.renews(t, "with files beside the kubeconfig")

	start := time.Now()
	must(t, "delete the secret", c.kube.CoreV1().Secrets(byHand).Delete(t.Context(), byHand+"-hub-kubeconfig", metav1.DeleteOptions{}))
	h.names(t, "SecretMissing", start)
	h.put(t, data)
	back := time.Now()
	h.renews(t, "with the same secret again")
	h.renewals.wantGap(t, "secret deleted and created with the same content", start, back.Sub(start))
}

// exampleKubeconfig returns a kubeconfig for the hub, without credentials.
func exampleKubeconfig(t *testing.T, c *cluster) *clientcmdapi.Config {
	t.Helper()
	secret, err := c.kube.CoreV1().Secrets(example).Get(t.Context(), exampleSecret, metav1.GetOptions{})
	must(t, "get the example's secret", err)
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	must(t, "read its kubeconfig", err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	}
	return config
}

func (h *hand) kubeconfig(t *testing.T, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	config := h.template.DeepCopy()
	current := config.Contexts[config.CurrentContext]
	change(config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo])
	raw, err := clientcmd.Write(*config)
	must(t, "write the kubeconfig", err)
	return raw
}

// token is one of a ServiceAccount on the hub.
func (h *hand) token(t *testing.T) string {
	t.Helper()
	accounts := h.env.hub.kube.CoreV1().ServiceAccounts(h.cluster.name)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: byHand}}, metav1.CreateOptions{})
	must(t, "create the ServiceAccount on the hub", err)
	cleanup(t, "delete it, and its lease", func(ctx context.Context) error {
		err := h.env.hub.kube.CoordinationV1().Leases(h.cluster.name).Delete(ctx, byHand, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return accounts.Delete(ctx, byHand, metav1.DeleteOptions{})
	})
	request, err := accounts.CreateToken(t.Context(), byHand, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, "ask for a token", err)
	return request.Status.Token
}

// put writes the secret in one request.
func (h *hand) put(t *testing.T, data map[string][]byte) {
	t.Helper()
	secrets := h.cluster.kube.CoreV1().Secrets(byHand)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: byHand + "-hub-kubeconfig"}, Data: data}
	_, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	}
	must(t, "write the secret", err)
}

// names waits for the Event, and sees that the log names the cause as well.
func (h *hand) names(t *testing.T, reason string, since time.Time) {
	t.Helper()
	eventually(t, "the event "+reason, h.cluster.hasEvent(byHand, byHand, reason, since))
	if log := h.cluster.logs(t, byHand, byHand); !strings.Contains(log, reason+": ") {
		t.Errorf("the log does not name %s: %s", reason, log)
	}
	t.Logf("%s: named after %s", reason, time.Since(since).Round(time.Millisecond))
}

func (h *hand) renews(t *testing.T, when string) {
	t.Helper()
	start := time.Now()
	eventually(t, "renewals "+when, func(context.Context) error {
		if _, ok := h.renewals.firstAfter(start); !ok {
			return fmt.Errorf("last renewed %s", h.renewals.last())
		}
		return nil
	})
	t.Logf("%s: renewed after %.2f periods", when, float64(time.Since(start))/float64(period))
}
