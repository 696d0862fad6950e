package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// readBootstrap reads the bootstrap kubeconfig and the files that it names.
func readBootstrap(path string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bootstrap kubeconfig: %w", err)
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return nil, fmt.Errorf("paths in the bootstrap kubeconfig: %w", err)
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return nil, fmt.Errorf("read the files of the bootstrap kubeconfig: %w", err)
	}
	return config, nil
}

// withServer returns a copy of the kubeconfig with another server.
func withServer(config *clientcmdapi.Config, server string) *clientcmdapi.Config {
	config = config.DeepCopy()
	for _, c := range config.Clusters {
		c.Server = server
	}
	return config
}

// prepare writes the cluster's bootstrap kubeconfig.
func (f *fleet) prepare(dir string, m Member) error {
	content, err := clientcmd.Write(*withServer(f.bootstrap, cmp.Or(m.HubURL, f.file.HubURL)))
	if err != nil {
		return fmt.Errorf("encode the bootstrap kubeconfig: %w", err)
	}
	dir = filepath.Join(dir, "bootstrap")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the cluster's directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), content, 0o600); err != nil {
		return fmt.Errorf("write the bootstrap kubeconfig: %w", err)
	}
	return nil
}
