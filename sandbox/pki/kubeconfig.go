package pki

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User holds the credentials of a kubeconfig's user: a client certificate or a token.
type User struct {
	Pair  Pair
	Token string
}

// Kubeconfig returns a kubeconfig with one context of the given name. It refers to no other files,
// so it can be copied elsewhere.
func Kubeconfig(name, server string, ca []byte, user User) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: user.Pair.CertPEM,
		ClientKeyData:         user.Pair.KeyPEM,
		Token:                 user.Token,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config
}

// WriteKubeconfig writes the kubeconfig, readable by its owner alone.
func WriteKubeconfig(file string, config *clientcmdapi.Config) error {
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write the kubeconfig %s: %w", file, err)
	}
	return nil
}

// Merge returns a kubeconfig with the contexts of all; the current context is that of the first.
func Merge(configs ...*clientcmdapi.Config) *clientcmdapi.Config {
	merged := clientcmdapi.NewConfig()
	for i, config := range configs {
		for name, cluster := range config.Clusters {
			merged.Clusters[name] = cluster
		}
		for name, user := range config.AuthInfos {
			merged.AuthInfos[name] = user
		}
		for name, context := range config.Contexts {
			merged.Contexts[name] = context
		}
		if i == 0 {
			merged.CurrentContext = config.CurrentContext
		}
	}
	return merged
}
