//go:build situations

package situations

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// defect makes a hub kubeconfig invalid in one respect, and in no other.
type defect struct {
	name string
	make func(t *testing.T, c *cluster, secret *corev1.Secret)
}

// The conditions for a valid hub kubeconfig, as HasValidHubClientConfig of OCM v0.13.2 lists them:
// https://pkg.go.dev/open-cluster-management.io/ocm@v0.13.2/pkg/registration/spoke#HasValidHubClientConfig.
var (
	invalidFiles = []defect{
		{"no_kubeconfig", without("kubeconfig")},
		{"no_certificate", without(corev1.TLSCertKey)},
		{"certificate_of_another_cluster", func(t *testing.T, c *cluster, secret *corev1.Secret) {
			putPair(secret, c.issue(t, subject("another", agentID(secret))))
		}},
		{"certificate_of_another_agent", func(t *testing.T, c *cluster, secret *corev1.Secret) {
			putPair(secret, c.issue(t, subject(c.name, "another")))
		}},
		{"certificate_expired", func(t *testing.T, c *cluster, secret *corev1.Secret) {
			putPair(secret, selfSigned(t, subject(c.name, agentID(secret)), time.Now().Add(-time.Minute)))
		}},
	}
	invalidAddress = []defect{
		{"another_server", inKubeconfig(func(_ *testing.T, config *clientcmdapi.Config) {
			hubOf(config).Server = "https://127.0.0.1:1"
		})},
		{"another_proxy", inKubeconfig(func(_ *testing.T, config *clientcmdapi.Config) {
			hubOf(config).ProxyURL = "http://127.0.0.1:1"
		})},
		{"another_authority", inKubeconfig(func(t *testing.T, config *clientcmdapi.Config) {
			further := selfSigned(t, subject("another", "authority"), time.Now().Add(time.Hour)).certificate
			hubOf(config).CertificateAuthorityData = append(hubOf(config).CertificateAuthorityData, further...)
		})},
		// not in the list, but compared as well since OCM v0.14
		{"another_cluster_name", inKubeconfig(func(_ *testing.T, config *clientcmdapi.Config) {
			context := config.Contexts[config.CurrentContext]
			config.Clusters["another"] = config.Clusters[context.Cluster]
			delete(config.Clusters, context.Cluster)
			context.Cluster = "another"
		})},
	}
)

// filesInvalid and addressInvalid: the hub kubeconfig is invalid in one respect after
// the other. Each time the registration agent joins anew with its bootstrap kubeconfig.
func filesInvalid(t *testing.T, c *cluster)   { eachDefect(t, c, invalidFiles) }
func addressInvalid(t *testing.T, c *cluster) { eachDefect(t, c, invalidAddress) }

func eachDefect(t *testing.T, c *cluster, defects []defect) {
	c.put(t, "stays", "a")
	c.enabled(t)
	_, before := c.credentials(t)
	c.through(t, func() {
		for _, d := range defects {
			t.Run(d.name, func(t *testing.T) { c.joinsAnew(t, d) })
		}
	})
	if _, now := c.credentials(t); !now.Equal(before) {
		t.Error("the add-on has another certificate")
	}
}

// joinsAnew gives the hub kubeconfig the defect and checks that a new pod of the
// registration agent makes a valid one with the bootstrap kubeconfig.
func (c *cluster) joinsAnew(t *testing.T, d defect) {
	start := time.Now()
	agent := c.startWith(t, d)
	renewed := c.renewal(t)
	c.startRegistration(t)
	c.isJoinedAnew(t, agent, renewed)
	t.Logf("%s: %s", d.name, time.Since(start).Round(100*time.Millisecond))
}

// startWith stops the registration agent and gives the hub kubeconfig the defect. It
// returns the agent's ID.
func (c *cluster) startWith(t *testing.T, d defect) (agent string) {
	t.Helper()
	c.stopRegistration(t)
	c.removeUsedRequests(t)
	secrets := c.home.CoreV1().Secrets(c.klusterlet)
	secret, err := secrets.Get(t.Context(), hubSecret, metav1.GetOptions{})
	must(t, "get the hub kubeconfig", err)
	agent = agentID(secret)
	d.make(t, c, secret)
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, "change the hub kubeconfig", err)
	c.put(t, "changes", d.name)
	return agent
}

// anyAgent stands for the ID of an agent that chooses it.
const anyAgent = "*"

// isJoinedAnew waits until the cluster has a new, valid hub kubeconfig.
func (c *cluster) isJoinedAnew(t *testing.T, agent string, renewed check) {
	t.Helper()
	eventually(t, "the cluster asks for a certificate with its bootstrap kubeconfig", c.asksAnew)
	eventually(t, "the hub kubeconfig is valid", c.validHubKubeconfig(agent, ofFirstHub))
	eventually(t, "the registration agent works", renewed)
	eventually(t, "a change arrives", c.working)
}

// keyMissing: the hub kubeconfig is invalid because it has no key. Its certificate is
// still good, and v1.2.1 asks for no other one: the registration agent waits until the
// Secret is deleted. It needs no restart for that.
func keyMissing(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.through(t, func() {
		agent := c.startWith(t, defect{"no_key", without(corev1.TLSPrivateKeyKey)})
		renewed := c.renewal(t)
		c.startRegistration(t)
		eventually(t, "a change arrives", c.working)
		consistently(t, 2*quiet, "the registration agent waits", func(ctx context.Context) error {
			if c.asksAnew(ctx) == nil || renewed(ctx) == nil {
				return errors.New("it joins")
			}
			return nil
		})
		c.deleteHubKubeconfig(t)
		c.isJoinedAnew(t, agent, renewed)
	})
}

// hubKubeconfigUnparsable: the registration agent of v1.2.1 keeps ending. It joins anew
// when the Secret is deleted and a new pod started.
func hubKubeconfigUnparsable(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.through(t, func() {
		agent := c.startWith(t, defect{"unparsable", func(_ *testing.T, _ *cluster, secret *corev1.Secret) {
			secret.Data["kubeconfig"] = []byte("[")
		}})
		renewed := c.renewal(t)
		c.startRegistration(t)
		eventually(t, "the registration agent keeps ending", c.keepsEnding(t))
		c.deleteHubKubeconfig(t)
		eventually(t, "the registration agent keeps ending in the same pod, which has the file", c.keepsEnding(t))
		if err := c.asksAnew(t.Context()); err == nil {
			t.Error("the registration agent joins anew in the same pod")
		}
		c.stopRegistration(t)
		c.startRegistration(t)
		if c.hosted() { // there OCM's operator gives the agent no ID, so that it makes another one
			agent = anyAgent
		}
		c.isJoinedAnew(t, agent, renewed)
	})
}

// without returns what removes a key from the hub kubeconfig's Secret.
func without(key string) func(*testing.T, *cluster, *corev1.Secret) {
	return func(t *testing.T, _ *cluster, secret *corev1.Secret) {
		t.Helper()
		if _, ok := secret.Data[key]; !ok {
			t.Fatalf("the hub kubeconfig's Secret has no %s to remove", key)
		}
		delete(secret.Data, key)
	}
}

// inKubeconfig returns what changes the kubeconfig in the hub kubeconfig's Secret.
func inKubeconfig(change func(*testing.T, *clientcmdapi.Config)) func(*testing.T, *cluster, *corev1.Secret) {
	return func(t *testing.T, _ *cluster, secret *corev1.Secret) {
		t.Helper()
		config, err := clientcmd.Load(secret.Data["kubeconfig"])
		must(t, "read the hub kubeconfig", err)
		change(t, config)
		secret.Data["kubeconfig"], err = clientcmd.Write(*config)
		must(t, "encode the hub kubeconfig", err)
	}
}

func hubOf(config *clientcmdapi.Config) *clientcmdapi.Cluster {
	return config.Clusters[config.Contexts[config.CurrentContext].Cluster]
}

func agentID(secret *corev1.Secret) string { return string(secret.Data["agent-name"]) }

func putPair(secret *corev1.Secret, p pair) {
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = p.certificate, p.key
}
