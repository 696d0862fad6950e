package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

// connect makes the clients of the managed cluster and of the one where the agent
// runs, which is the same unless the agent is hosted.
func (a *agent) connect() error {
	if a.options.Hosted {
		config, err := a.podConfig()
		if err != nil {
			return err
		}
		if a.home, err = a.client(config); err != nil {
			return fmt.Errorf("connect to the hosting cluster: %w", err)
		}
	}
	config, err := a.managedConfig()
	if err != nil {
		return err
	}
	if a.managed, err = a.client(config); err != nil {
		return fmt.Errorf("connect to the managed cluster: %w", err)
	}
	if a.home == nil {
		a.home = a.managed
	}
	return nil
}

// client makes a client of the managed or the hosting cluster. The proxy of the
// environment is the hub's: these are reached through one only where a kubeconfig
// names it as its proxy-url.
func (a *agent) client(config *rest.Config) (*kubeclient.Client, error) {
	a.limit(config)
	if config.Proxy == nil {
		config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return kubeclient.New(config)
}

// managedConfig is how to reach the managed cluster.
func (a *agent) managedConfig() (*rest.Config, error) {
	if a.options.Kubeconfig == "" {
		return a.podConfig()
	}
	if a.options.Hosted {
		if err := a.checkManagedKubeconfig(); err != nil {
			return nil, err
		}
	}
	config, err := kubeclient.FromFile(a.options.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", manifests.FlagKubeconfig, err)
	}
	return config, nil
}

// checkManagedKubeconfig refuses a kubeconfig with two kinds of credentials. One
// that was made of an administrator's by adding a token still has the
// administrator's certificate, which the API server takes instead of the token.
func (a *agent) checkManagedKubeconfig() error {
	content, err := os.ReadFile(a.options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("--%s: %w", manifests.FlagKubeconfig, err)
	}
	kinds, err := credentials.Kinds(content)
	if err != nil {
		return fmt.Errorf("--%s: %s: %w", manifests.FlagKubeconfig, a.options.Kubeconfig, err)
	}
	if len(kinds) > 1 {
		return fmt.Errorf("the kubeconfig in Secret %s/%s has more than one kind of credentials (%s): "+
			"give it one alone, the token of ServiceAccount %s/%s on the managed cluster, and create the Secret anew",
			a.options.Namespace, manifests.ManagedKubeconfigSecret, strings.Join(kinds, ", "),
			a.options.Namespace, manifests.AgentServiceAccount)
	}
	return nil
}

// podConfig is how to reach the cluster where the agent's pod runs.
func (a *agent) podConfig() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster) && a.options.Hosted:
		return nil, fmt.Errorf("this is no pod: --%s is for one on a hosting cluster; leave it out to run by hand", manifests.FlagHosted)
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("this is no pod: give the managed cluster's kubeconfig by --%s", manifests.FlagKubeconfig)
	case err != nil:
		return nil, fmt.Errorf("read the pod's service account: %w", err)
	default:
		return config, nil
	}
}

// limit sets what is the same for the clients of both sides.
func (a *agent) limit(config *rest.Config) {
	config.QPS = a.options.KubeAPIQPS
	config.Burst = a.options.KubeAPIBurst
	config.UserAgent = manifests.AgentCommand + "/" + version.Get().GitVersion
}
