package registration

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/url"
	"path"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
)

// kubeconfig is the current context of a kubeconfig. The files that it names are other
// keys of its Secret.
type kubeconfig struct {
	context *clientcmdapi.Context
	cluster *clientcmdapi.Cluster
	// user is empty if the kubeconfig has none for the context: OCM then is anonymous.
	user  clientcmdapi.AuthInfo
	files map[string][]byte
}

// parse returns the kubeconfig in raw. OCM takes an empty file for a kubeconfig without
// content. The error is not returned, because it can contain credentials.
func parse(raw []byte) (*clientcmdapi.Config, bool) {
	config := clientcmdapi.NewConfig()
	if len(raw) == 0 {
		return config, true
	}
	kind := schema.GroupVersionKind{Version: clientcmdlatest.Version, Kind: "Config"}
	_, _, err := clientcmdlatest.Codec.Decode(raw, &kind, config)
	return config, err == nil
}

// current returns the current context of config, or what is missing.
func current(config *clientcmdapi.Config, files map[string][]byte) (*kubeconfig, string) {
	context, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil, fmt.Sprintf("without the context %q, which is its current-context", config.CurrentContext)
	}
	cluster, ok := config.Clusters[context.Cluster]
	if !ok {
		return nil, fmt.Sprintf("without the cluster %q, which its current context names", context.Cluster)
	}
	found := &kubeconfig{context: context, cluster: cluster, files: files}
	if user, ok := config.AuthInfos[context.AuthInfo]; ok {
		found.user = *user
	}
	return found, ""
}

// clientFlaw describes why OCM cannot make a client of the kubeconfig, or is empty. With
// such a kubeconfig the agent exits. It has the checks of client-go that a Secret of the
// registration agent can fail:
// https://github.com/kubernetes/client-go/blob/v0.34.4/tools/clientcmd/validation.go
func (k *kubeconfig) clientFlaw() string {
	switch {
	case k.cluster.Server == "":
		return "without a server"
	case !k.there(k.cluster.CertificateAuthority):
		return missingFile("certificate-authority", k.cluster.CertificateAuthority)
	case !k.there(k.user.ClientCertificate):
		return missingFile("client-certificate", k.user.ClientCertificate)
	case k.withCertificate() && !k.there(k.user.ClientKey):
		return missingFile("client-key", k.user.ClientKey)
	case !k.there(k.user.TokenFile):
		return missingFile("tokenFile", k.user.TokenFile)
	}
	if ca := k.read(k.cluster.CertificateAuthorityData, k.cluster.CertificateAuthority); len(ca) > 0 &&
		!x509.NewCertPool().AppendCertsFromPEM(ca) {
		return "whose CA bundle has no certificate"
	}
	if k.withCertificate() && k.user.ClientKey == "" && len(k.user.ClientKeyData) == 0 {
		return "with a client certificate and no key"
	}
	return ""
}

// inlineMismatch reports whether the kubeconfig contains a certificate and another key. The
// agent exits when it makes a client of it, and not when it reads it.
func (k *kubeconfig) inlineMismatch() bool {
	if len(k.user.ClientCertificateData) == 0 || len(k.user.ClientKeyData) == 0 {
		return false
	}
	return !keyFits(k.user.ClientCertificateData, k.user.ClientKeyData)
}

func (k *kubeconfig) withCertificate() bool {
	return k.user.ClientCertificate != "" || len(k.user.ClientCertificateData) > 0
}

// anonymous reports whether the user has no credentials.
func (k *kubeconfig) anonymous() bool {
	u := k.user
	return !k.withCertificate() && u.Token == "" && u.TokenFile == "" && u.Username == "" && u.Exec == nil && u.AuthProvider == nil
}

func missingFile(field, file string) string {
	return fmt.Sprintf("whose %s is the file %q, which is no key of the Secret", field, file)
}

// there reports whether a file that a field names is a key of the Secret.
func (k *kubeconfig) there(file string) bool {
	_, ok := k.files[path.Clean(file)]
	return ok || file == ""
}

func (k *kubeconfig) read(inline []byte, file string) []byte {
	if len(inline) > 0 || file == "" {
		return inline
	}
	return k.files[path.Clean(file)]
}

// expected returns the kubeconfig that OCM writes for the hub of a bootstrap kubeconfig.
// OCM compares the text, and requests a new certificate when another one is in the
// Secret. See BaseKubeConfigFromBootStrap in
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/common.go
func (k *kubeconfig) expected(driver Driver) ([]byte, error) {
	const contextName, userName = "default-context", "default-auth"
	user := &clientcmdapi.AuthInfo{ClientCertificate: certificateKey, ClientKey: keyKey}
	if driver == Token {
		user = &clientcmdapi.AuthInfo{TokenFile: tokenKey}
	}
	return encode(&clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{k.context.Cluster: {
			Server:                   k.cluster.Server,
			CertificateAuthority:     k.cluster.CertificateAuthority,
			CertificateAuthorityData: k.cluster.CertificateAuthorityData,
			ProxyURL:                 k.cluster.ProxyURL,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{userName: user},
		Contexts: map[string]*clientcmdapi.Context{contextName: {
			Cluster: k.context.Cluster, AuthInfo: userName, Namespace: "configuration",
		}},
		CurrentContext: contextName,
	})
}

// caBundle describes a cluster's CA bundle for messages.
func caBundle(cluster *clientcmdapi.Cluster) string {
	switch {
	case len(cluster.CertificateAuthorityData) > 0 && cluster.CertificateAuthority != "":
		return fmt.Sprintf("the file %q and %s", cluster.CertificateAuthority, digest(cluster.CertificateAuthorityData))
	case len(cluster.CertificateAuthorityData) > 0:
		return digest(cluster.CertificateAuthorityData)
	case cluster.CertificateAuthority != "":
		return fmt.Sprintf("the file %q", cluster.CertificateAuthority)
	case cluster.CertificateAuthorityData != nil:
		return "empty"
	default:
		return "absent"
	}
}

func digest(data []byte) string {
	return fmt.Sprintf("%d bytes with SHA-256 %.6x…", len(data), sha256.Sum256(data))
}

// redacted returns a URL for messages, without the password.
func redacted(raw string) string {
	parsed, err := url.Parse(raw)
	switch {
	case raw == "":
		return "absent"
	case err != nil:
		return fmt.Sprintf("no URL (%d characters)", len(raw))
	default:
		return fmt.Sprintf("%q", parsed.Redacted())
	}
}

func encode(config *clientcmdapi.Config) ([]byte, error) {
	return runtime.Encode(clientcmdlatest.Codec, config)
}
