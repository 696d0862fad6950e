package hubclient

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// FromFile reads a kubeconfig file, with whatever credentials it has, for
// running an agent by hand. The certificate files that it names are read again
// when they change, as client-go does; the kubeconfig itself is not.
func FromFile(path string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %s", path, oneLine(err))
	}
	return config, nil
}
