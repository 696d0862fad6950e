package agent

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

// connect makes the clients of the managed cluster and of the one where the agent
// runs, which is the same unless the agent is hosted.
func (a *agent) connect() error {
	config, err := a.managedConfig()
	if err != nil {
		return err
	}
	a.limit(config)
	if a.managed, err = kubeclient.New(config); err != nil {
		return fmt.Errorf("connect to the managed cluster: %w", err)
	}
	a.home = a.managed
	if !a.options.Hosted {
		return nil
	}
	if config, err = a.podConfig(); err != nil {
		return err
	}
	a.limit(config)
	if a.home, err = kubeclient.New(config); err != nil {
		return fmt.Errorf("connect to the hosting cluster: %w", err)
	}
	return nil
}

// managedConfig is how to reach the managed cluster.
func (a *agent) managedConfig() (*rest.Config, error) {
	if a.options.Kubeconfig == "" {
		return a.podConfig()
	}
	config, err := hubclient.FromFile(a.options.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", manifests.FlagKubeconfig, err)
	}
	return config, nil
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
