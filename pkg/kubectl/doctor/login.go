package doctor

import (
	"bytes"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// bootstrapLogin returns how to reach the hub with the credentials of a bootstrap kubeconfig, or nil if it is one of another hub or
// has no credentials in it. The kubeconfig is only parsed: client-go's other functions would read files that it names.
func bootstrapLogin(kubeconfig []byte, hub *rest.Config) *rest.Config {
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil || parsed.Contexts[parsed.CurrentContext] == nil {
		return nil
	}
	context := parsed.Contexts[parsed.CurrentContext]
	cluster, user := parsed.Clusters[context.Cluster], parsed.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil || !isOf(cluster, hub) {
		return nil
	}
	config := rest.AnonymousClientConfig(hub)
	switch {
	case user.Exec != nil || user.AuthProvider != nil || user.Impersonate != "":
		return nil
	case user.Token != "":
		config.BearerToken = user.Token
	case len(user.ClientCertificateData) > 0 && len(user.ClientKeyData) > 0:
		config.CertData, config.KeyData = user.ClientCertificateData, user.ClientKeyData
	default:
		return nil
	}
	config.Timeout, config.WarningHandler = probeTimeout, rest.NoWarnings{}
	return config
}

// isOf reports whether a cluster of a kubeconfig is the hub: the server or the CA bundle is the same.
func isOf(cluster *clientcmdapi.Cluster, hub *rest.Config) bool {
	bundle := hub.CAData
	if len(bundle) == 0 && hub.CAFile != "" {
		// A file of the person who asks. Without it the hub would not have answered.
		bundle, _ = os.ReadFile(hub.CAFile)
	}
	return cluster.Server == hub.Host || len(bundle) > 0 && bytes.Equal(bytes.TrimSpace(cluster.CertificateAuthorityData), bytes.TrimSpace(bundle))
}
