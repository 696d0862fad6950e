//go:build situations

package situations

import (
	"context"
	"errors"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// flaw is what makes a bootstrap kubeconfig invalid.
type flaw string

const (
	// expiredUser: the client certificate has expired. Only the sandbox can issue such a
	// certificate. Elsewhere expiredUser is the same as unknownUser: the hub answers both with 401.
	expiredUser flaw = "expired"
	// unknownUser: the hub does not know the user.
	unknownUser flaw = "unknown"
	// missing: there is no Secret.
	missing flaw = "missing"
	// unparsable: the Secret's content is no kubeconfig.
	unparsable flaw = "unparsable"
)

// bootstrap is one bootstrap kubeconfig of a cluster.
type bootstrap struct {
	// secret is the name of its Secret, hub the sandbox's name for the hub.
	secret, hub string
}

var ofFirstHub = bootstrap{secret: bootstrapSecret, hub: "hub"}

func (c *cluster) bootstrapKubeconfig(t *testing.T, of bootstrap) []byte {
	t.Helper()
	secret, err := c.home.CoreV1().Secrets(c.klusterlet).Get(t.Context(), of.secret, metav1.GetOptions{})
	must(t, "get the bootstrap kubeconfig", err)
	return secret.Data["kubeconfig"]
}

// spoil gives a bootstrap kubeconfig the flaw. repair restores it.
func (c *cluster) spoil(t *testing.T, of bootstrap, how flaw) (repair func()) {
	t.Helper()
	good := c.bootstrapKubeconfig(t, of)
	t.Cleanup(func() {
		if t.Failed() {
			_, _ = writeSecret(context.WithoutCancel(t.Context()), c.home, c.klusterlet, of.secret, good)
		}
	})
	if how == missing {
		must(t, "delete the bootstrap kubeconfig", c.home.CoreV1().Secrets(c.klusterlet).Delete(t.Context(), of.secret, metav1.DeleteOptions{}))
	} else {
		setSecret(t, c.home, c.klusterlet, of.secret, c.spoilt(t, of, good, how))
	}
	return func() { setSecret(t, c.home, c.klusterlet, of.secret, good) }
}

// spoilt returns the good bootstrap kubeconfig with the flaw.
func (c *cluster) spoilt(t *testing.T, of bootstrap, good []byte, how flaw) []byte {
	t.Helper()
	switch {
	case how == unparsable:
		return []byte("[")
	case how == expiredUser && os.Getenv(sandboxEnv) != "":
		return c.sandbox(t, "bootstrap $CLUSTER --expired --hub="+of.hub)
	}
	config, err := clientcmd.Load(good)
	must(t, "read the bootstrap kubeconfig", err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "unknown"}
	}
	bad, err := clientcmd.Write(*config)
	must(t, "encode a bootstrap kubeconfig", err)
	return bad
}

// hubAddress is what the registration agent compares of two kubeconfigs to see whether
// they lead to the same hub.
type hubAddress struct{ Cluster, Server, Proxy, Authority string }

// addressOf returns the hub to which a kubeconfig leads.
func addressOf(kubeconfig []byte) (hubAddress, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return hubAddress{}, err
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil {
		return hubAddress{}, errors.New("a kubeconfig without a current cluster")
	}
	hub := config.Clusters[context.Cluster]
	return hubAddress{Cluster: context.Cluster, Server: hub.Server, Proxy: hub.ProxyURL,
		Authority: hub.CertificateAuthority + string(hub.CertificateAuthorityData)}, nil
}
