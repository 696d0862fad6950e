package hubclient

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
)

// KubeconfigKey is the key of the kubeconfig in the secret. The kubeconfig
// names the other keys as files beside it.
const KubeconfigKey = "kubeconfig"

// Load makes credentials of a secret's data, as OCM's registration agent
// writes it, and checks them for the identity and the time given. The error is
// a *BadCredentials.
func Load(data map[string][]byte, identity Identity, now time.Time) (*Credentials, error) {
	raw, ok := data[KubeconfigKey]
	if !ok || len(raw) == 0 {
		return nil, bad(KubeconfigMissing, "the secret has no key %q", KubeconfigKey)
	}
	config := clientcmdapi.NewConfig()
	kind := schema.GroupVersionKind{Version: clientcmdlatest.Version, Kind: "Config"}
	if _, _, err := clientcmdlatest.Codec.Decode(raw, &kind, config); err != nil {
		return nil, bad(KubeconfigInvalid, "%s", oneLine(err))
	}
	cluster, user, err := current(config)
	if err != nil {
		return nil, err
	}
	files := secretFiles(data)
	endpoint, err := loadEndpoint(files, cluster)
	if err != nil {
		return nil, err
	}
	certificate, err := loadCertificate(files, user)
	if err != nil {
		return nil, err
	}
	if err := checkCertificate(certificate.Leaf, identity, now); err != nil {
		return nil, err
	}
	return &Credentials{Endpoint: *endpoint, Certificate: *certificate}, nil
}

// current picks the cluster and the user of the current context.
func current(config *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	if config.CurrentContext == "" {
		return nil, nil, bad(KubeconfigInvalid, "it has no current-context")
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok || context == nil {
		return nil, nil, bad(KubeconfigInvalid, "it has no context %q, which is its current-context", config.CurrentContext)
	}
	cluster, ok := config.Clusters[context.Cluster]
	if !ok || cluster == nil {
		return nil, nil, bad(KubeconfigInvalid, "it has no cluster %q", context.Cluster)
	}
	user, ok := config.AuthInfos[context.AuthInfo]
	if !ok || user == nil {
		return nil, nil, bad(KubeconfigInvalid, "it has no user %q", context.AuthInfo)
	}
	return cluster, user, nil
}

func loadEndpoint(files secretFiles, cluster *clientcmdapi.Cluster) (*Endpoint, error) {
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return nil, bad(KubeconfigInvalid, "its server %q is no https URL", cluster.Server)
	}
	if _, err := url.Parse(cluster.ProxyURL); err != nil {
		return nil, bad(KubeconfigInvalid, "its proxy-url %q is no URL", cluster.ProxyURL)
	}
	ca, err := files.read("certificate-authority", cluster.CertificateAuthorityData, cluster.CertificateAuthority)
	if err != nil {
		return nil, bad(KubeconfigInvalid, "%s", err)
	}
	if len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, bad(KubeconfigInvalid, "its certificate-authority holds no PEM certificate")
	}
	return &Endpoint{
		Server: cluster.Server, CAData: ca, ServerName: cluster.TLSServerName,
		ProxyURL: cluster.ProxyURL, Insecure: cluster.InsecureSkipTLSVerify,
	}, nil
}

// loadCertificate makes sure that certificate and key belong together.
func loadCertificate(files secretFiles, user *clientcmdapi.AuthInfo) (*tls.Certificate, error) {
	certPEM, err := files.read("client-certificate", user.ClientCertificateData, user.ClientCertificate)
	if err != nil {
		return nil, bad(CertificateMissing, "%s", err)
	}
	keyPEM, err := files.read("client-key", user.ClientKeyData, user.ClientKey)
	if err != nil {
		return nil, bad(CertificateMissing, "%s", err)
	}
	if len(certPEM) == 0 || len(keyPEM) == 0 {
		return nil, bad(CertificateMissing, "the kubeconfig's user needs a client-certificate and a client-key")
	}
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, bad(CertificateInvalid, "%s", oneLine(err))
	}
	if certificate.Leaf == nil {
		if certificate.Leaf, err = x509.ParseCertificate(certificate.Certificate[0]); err != nil {
			return nil, bad(CertificateInvalid, "%s", oneLine(err))
		}
	}
	return &certificate, nil
}

func checkCertificate(leaf *x509.Certificate, identity Identity, now time.Time) error {
	prefix := identity.commonNamePrefix()
	switch {
	case !strings.HasPrefix(leaf.Subject.CommonName, prefix) || leaf.Subject.CommonName == prefix:
		return bad(CertificateForOther, "the certificate is for %q, not for an agent of add-on %s on cluster %s",
			leaf.Subject.CommonName, identity.AddonName, identity.ClusterName)
	case !now.Before(leaf.NotAfter):
		return bad(CertificateExpired, "the certificate expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return bad(CertificateTooEarly, "the certificate is valid from %s on; is the clock right?",
			leaf.NotBefore.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// secretFiles are a secret's data, seen as the files of one directory.
type secretFiles map[string][]byte

// read returns the inline data of a kubeconfig's field, or else the content of
// the file that the field names.
func (f secretFiles) read(field string, inline []byte, file string) ([]byte, error) {
	if len(inline) > 0 || file == "" {
		return inline, nil
	}
	name := path.Clean(file)
	content, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("the kubeconfig's %s is the file %q, which is no key of the secret", field, file)
	}
	return content, nil
}

func bad(reason Reason, format string, args ...any) *BadCredentials {
	return &BadCredentials{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
