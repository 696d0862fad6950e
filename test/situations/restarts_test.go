//go:build situations

package situations

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// bootstrapChanges: the bootstrap kubeconfig is updated, deleted and created again. The
// registration agent ends by itself at the first two, and goes on with its hub
// kubeconfig. It does not notice the third.
func bootstrapChanges(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	good := c.bootstrapKubeconfig(t, ofFirstHub)
	c.through(t, func() {
		noRequest := c.noRequest(t)
		c.restartsOnce(t, func() { setSecret(t, c.home, c.klusterlet, bootstrapSecret, withFurtherUser(t, good)) })
		c.restartsOnce(t, func() {
			must(t, "delete the bootstrap kubeconfig", c.home.CoreV1().Secrets(c.klusterlet).Delete(t.Context(), bootstrapSecret, metav1.DeleteOptions{}))
		})
		notReplaced := c.notReplaced(t)
		setSecret(t, c.home, c.klusterlet, bootstrapSecret, good)
		consistently(t, quiet, "the registration agent does not notice the new Secret", notReplaced)
		must(t, "no certificate is requested after a restart", noRequest(t.Context()))
	})
}

// restartsOnce checks that the registration agent ends once, by itself and not because
// of its health check, when the bootstrap kubeconfig changes, and then works.
func (c *cluster) restartsOnce(t *testing.T, change func()) {
	t.Helper()
	renewed, replaced, ended := c.renewal(t), c.replaced(t), c.watchEnds(t)
	change()
	eventually(t, "the registration agent runs in another process", replaced)
	eventually(t, "the registration agent works", renewed)
	causes, err := ended(t.Context())
	must(t, "read how the registration agent ended", err)
	if len(causes) != 1 || byHealthCheck(causes[0]) {
		t.Errorf("the registration agent ended %d times, and not once by itself: %s", len(causes), causes)
	}
}

// withFurtherUser returns the kubeconfig with a user that no context has.
func withFurtherUser(t *testing.T, kubeconfig []byte) []byte {
	t.Helper()
	config, err := clientcmd.Load(kubeconfig)
	must(t, "read a kubeconfig", err)
	config.AuthInfos["further"] = &clientcmdapi.AuthInfo{Token: "unused"}
	content, err := clientcmd.Write(*config)
	must(t, "encode a kubeconfig", err)
	return content
}

// certificateExpires: the certificate of the hub kubeconfig expires while the
// registration agent runs and cannot renew it. Its health check fails, so that it is
// restarted, and it joins anew when it can.
//
// It cannot renew it here because the cluster has as many certificate requests on the
// hub as it may have. The certificate is one that has expired already.
func certificateExpires(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.through(t, func() {
		secrets := c.home.CoreV1().Secrets(c.klusterlet)
		secret, err := secrets.Get(t.Context(), hubSecret, metav1.GetOptions{})
		must(t, "get the hub kubeconfig", err)
		agent := agentID(secret)
		c.plantRequests(t, agent)
		putPair(secret, selfSigned(t, subject(c.name, agent), time.Now().Add(-time.Minute)))
		replaced, ended, start := c.replaced(t), c.watchEnds(t), time.Now()
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
		must(t, "change the hub kubeconfig", err)

		eventually(t, "the registration agent runs in another process", replaced)
		t.Logf("expired → restarted: %s", time.Since(start).Round(100*time.Millisecond))
		causes, err := ended(t.Context())
		must(t, "read how the registration agent ended", err)
		if len(causes) != 1 || !byHealthCheck(causes[0]) {
			t.Errorf("the registration agent ended %d times, and not once because of its health check: %s", len(causes), causes)
		}
		c.put(t, "changes", "b")
		eventually(t, "a change arrives", c.working)
		if err := c.asksAnew(t.Context()); err == nil {
			t.Error("the cluster asks for a certificate although it has as many requests as it may have")
		}
		renewed := c.renewal(t)
		c.removeUsedRequests(t)
		c.isJoinedAnew(t, agent, renewed)
	})
}

// maxRequests is the number of its requests on the hub from which on the registration
// agent makes no more.
const maxRequests = 10

// plantRequests creates as many certificate requests of the cluster as it may have, as
// if the agent's own user had made them.
func (c *cluster) plantRequests(t *testing.T, agent string) {
	t.Helper()
	c.removeUsedRequests(t)
	key, _ := newKey(t)
	name := subject(c.name, agent)
	request, err := cert.MakeCSR(key, &name, nil, nil)
	must(t, "make a certificate request", err)
	for range maxRequests {
		_, err := c.hub.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: c.name + "-", Labels: map[string]string{clusterNameLabel: c.name, plantedLabel: ""}},
			Spec: certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName,
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth}},
		}, metav1.CreateOptions{})
		must(t, "create a certificate request", err)
	}
}
