package doctor

import (
	"crypto/x509"
	"os"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// bootstrapLogin returns how to reach the hub with the credentials of a bootstrap kubeconfig, or nil if it does not lead to server,
// the hub's URL on the managed cluster, or has no credentials in it. The kubeconfig is only parsed: client-go's other
// functions would read files that it names.
func bootstrapLogin(kubeconfig []byte, server string, hub *rest.Config) *rest.Config {
	cluster, user := current(kubeconfig)
	if cluster == nil || user == nil || server == "" || cluster.Server != server {
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

// current returns the current cluster and user of a kubeconfig, or nil.
func current(kubeconfig []byte) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil || parsed.Contexts[parsed.CurrentContext] == nil {
		return nil, nil
	}
	context := parsed.Contexts[parsed.CurrentContext]
	return parsed.Clusters[context.Cluster], parsed.AuthInfos[context.AuthInfo]
}

// serverOf returns the URL by which the managed cluster reaches the hub of the person who asks. It returns an empty string if
// no kubeconfig of the registration agent leads there, or if it cannot tell: two hubs may have a certificate authority in common.
func serverOf(facts registration.Facts, hub *rest.Config) string {
	server := ""
	for _, secret := range secretsOf(facts) {
		cluster, _ := current(secret.Data["kubeconfig"])
		switch {
		case cluster == nil:
		case cluster.Server == hub.Host:
			return hub.Host
		case !sharesAuthority(cluster, hub):
		case server != "" && server != cluster.Server:
			return ""
		default:
			server = cluster.Server
		}
	}
	return server
}

// leadsTo reports whether the kubeconfig in a Secret leads to server, the hub's URL on the managed cluster.
func leadsTo(secret map[string][]byte, server string) bool {
	cluster, _ := current(secret["kubeconfig"])
	return cluster != nil && server != "" && cluster.Server == server
}

func secretsOf(facts registration.Facts) []registration.Secret {
	secrets := []registration.Secret{facts.Hub}
	for _, b := range facts.Bootstraps {
		secrets = append(secrets, b.Secret)
	}
	return secrets
}

// sharesAuthority reports whether the CA bundles of a cluster in a kubeconfig and of the hub have a certificate in common. One of
// them may have more, for example while an authority is replaced.
func sharesAuthority(cluster *clientcmdapi.Cluster, hub *rest.Config) bool {
	bundle := hub.CAData
	if len(bundle) == 0 && hub.CAFile != "" {
		// A file of the person who asks. Without it the hub would not have answered.
		bundle, _ = os.ReadFile(hub.CAFile)
	}
	ours, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return false
	}
	theirs, err := cert.ParseCertsPEM(cluster.CertificateAuthorityData)
	return err == nil && slices.ContainsFunc(theirs, func(their *x509.Certificate) bool { return slices.ContainsFunc(ours, their.Equal) })
}

// otherHub returns the URL of the hub that a registration agent has joined, if the agent may choose among several hubs and that is
// not the one at server, the hub of the person who asks.
func otherHub(facts registration.Facts, server string) string {
	joined, _ := current(facts.Hub.Data["kubeconfig"])
	if !facts.SeveralHubs || joined == nil || server == "" || joined.Server == server {
		return ""
	}
	return joined.Server
}
