package agent

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
)

// managedConfig is how to reach the managed cluster.
func (a *agent) managedConfig() (*rest.Config, error) {
	config, err := a.loadManagedConfig()
	if err != nil {
		return nil, err
	}
	a.limit(config)
	return config, nil
}

func (a *agent) loadManagedConfig() (*rest.Config, error) {
	if a.options.Kubeconfig != "" {
		config, err := hubclient.FromFile(a.options.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", manifests.FlagKubeconfig, err)
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	switch {
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
