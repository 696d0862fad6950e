package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
)

// kubeconfigKey is the secret's key with the kubeconfig, which names the other
// keys as files beside it.
const kubeconfigKey = "kubeconfig"

// Credentials are what a secret holds to reach the hub: an add-on's own, for
// whatever identity they are.
type Credentials struct {
	// Kubeconfig is complete in itself: no file is named in it.
	Kubeconfig clientcmdapi.Config
	// NotBefore and NotAfter are those of the client certificate, the zero time
	// where there is none.
	NotBefore, NotAfter time.Time
}

// Load makes credentials of the secret, nil where there is none. It does not
// look at the time: Valid does.
func Load(secret *corev1.Secret) (*Credentials, *Cause) {
	if secret == nil {
		return nil, &Cause{SecretMissing, "OCM's registration agent, or whoever makes it, has not written it yet, or it was deleted"}
	}
	raw := secret.Data[kubeconfigKey]
	if len(raw) == 0 {
		return nil, &Cause{KubeconfigMissing, fmt.Sprintf("the secret has no key %q", kubeconfigKey)}
	}
	config := clientcmdapi.NewConfig()
	kind := schema.GroupVersionKind{Version: clientcmdlatest.Version, Kind: "Config"}
	if _, _, err := clientcmdlatest.Codec.Decode(raw, &kind, config); err != nil {
		return nil, &Cause{KubeconfigInvalid, oneLine(err.Error())}
	}
	cluster, user, cause := current(config)
	if cause != nil {
		return nil, cause
	}
	return inline(secret.Data, cluster, user)
}

// Valid says why the credentials cannot be used at the time now, or nil.
func (c *Credentials) Valid(now time.Time) *Cause {
	switch {
	case c.NotAfter.IsZero():
		return nil
	case !now.Before(c.NotAfter):
		return &Cause{CertificateExpired, "the client certificate expired at " + c.NotAfter.UTC().Format(time.RFC3339)}
	case now.Before(c.NotBefore):
		return &Cause{CertificateTooEarly, "the client certificate is valid from " + c.NotBefore.UTC().Format(time.RFC3339) +
			" on; is the clock right?"}
	default:
		return nil
	}
}

// current picks the cluster and the user of the current context.
func current(config *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *Cause) {
	missing := func(format string, args ...any) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *Cause) {
		return nil, nil, &Cause{KubeconfigInvalid, "the kubeconfig has no " + fmt.Sprintf(format, args...)}
	}
	if config.CurrentContext == "" {
		return missing("current-context")
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil {
		return missing("context %q, which is its current-context", config.CurrentContext)
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster == nil {
		return missing("cluster %q", context.Cluster)
	}
	if user == nil {
		return missing("user %q", context.AuthInfo)
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Host == "" || server.Scheme != "https" && server.Scheme != "http" {
		return nil, nil, &Cause{KubeconfigInvalid, fmt.Sprintf("the kubeconfig's server %q is no URL", cluster.Server)}
	}
	return cluster, user, nil
}

// inline makes a kubeconfig of one context, with the content of the secret's
// keys in the place of the files.
func inline(data map[string][]byte, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) (*Credentials, *Cause) {
	cluster, user = cluster.DeepCopy(), user.DeepCopy()
	if user.Exec != nil || user.AuthProvider != nil {
		return nil, &Cause{CredentialsMissing, "the kubeconfig's user asks for another program to be run, which there is not: " +
			"give a client certificate or a token"}
	}
	var cause *Cause
	read := func(field string, content *[]byte, file *string) {
		if *file == "" || len(*content) > 0 || cause != nil {
			*file = ""
			return
		}
		found, ok := data[path.Clean(*file)]
		if !ok {
			cause = &Cause{CredentialsMissing, fmt.Sprintf("the kubeconfig's %s is the file %q, which is no key of the secret", field, *file)}
		}
		*content, *file = slices.Clone(found), ""
	}
	token := []byte(user.Token)
	read("certificate-authority", &cluster.CertificateAuthorityData, &cluster.CertificateAuthority)
	read("client-certificate", &user.ClientCertificateData, &user.ClientCertificate)
	read("client-key", &user.ClientKeyData, &user.ClientKey)
	read("tokenFile", &token, &user.TokenFile)
	if cause != nil {
		return nil, cause
	}
	user.Token = strings.TrimSpace(string(token))
	credentials := &Credentials{Kubeconfig: *clientcmdapi.NewConfig()}
	credentials.Kubeconfig.CurrentContext = "hub"
	credentials.Kubeconfig.Clusters["hub"] = cluster
	credentials.Kubeconfig.AuthInfos["hub"] = user
	credentials.Kubeconfig.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "hub"}
	if cause := credentials.check(cluster, user); cause != nil {
		return nil, cause
	}
	return credentials, nil
}

// check makes sure that there is an identity, and that certificate and key
// belong together.
func (c *Credentials) check(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) *Cause {
	if ca := cluster.CertificateAuthorityData; len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return &Cause{KubeconfigInvalid, "the kubeconfig's certificate-authority holds no PEM certificate"}
	}
	hasCertificate, hasKey := len(user.ClientCertificateData) > 0, len(user.ClientKeyData) > 0
	switch {
	case !hasCertificate && !hasKey && user.Token == "" && user.Username == "":
		return &Cause{CredentialsMissing, "the kubeconfig's user has neither a client certificate nor a token"}
	case !hasCertificate && !hasKey:
		return nil
	case !hasCertificate || !hasKey:
		return &Cause{CredentialsMissing, "the kubeconfig's user needs both, a client-certificate and a client-key"}
	}
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		return &Cause{CertificateInvalid, oneLine(err.Error())}
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return &Cause{CertificateInvalid, oneLine(err.Error())}
	}
	c.NotBefore, c.NotAfter = leaf.NotBefore, leaf.NotAfter
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
