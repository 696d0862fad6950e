package supervisor

import (
	"path/filepath"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// writeKubeconfigs writes the administrators' kubeconfigs for people and tests:
// one for each cluster, one for each as the programs of pods reach it, and one
// with all as contexts.
func (s *supervisor) writeKubeconfigs() error {
	var all []*clientcmdapi.Config
	for _, c := range s.clusters {
		config := c.OutsideKubeconfig()
		if err := pki.WriteKubeconfig(filepath.Join(s.Dir, c.Name+".kubeconfig"), config); err != nil {
			return err
		}
		if err := pki.WriteKubeconfig(filepath.Join(s.Dir, c.Name+".inside.kubeconfig"), c.InsideKubeconfig()); err != nil {
			return err
		}
		all = append(all, config)
	}
	return pki.WriteKubeconfig(filepath.Join(s.Dir, "kubeconfig"), pki.Merge(all...))
}
