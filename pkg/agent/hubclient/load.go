package hubclient

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
)

// KubeconfigKey is the name of the kubeconfig among the files, as it is in the
// secret. The kubeconfig names the other keys as files beside it.
const KubeconfigKey = "kubeconfig"

// Load makes credentials of a kubeconfig and the files that it names, such as
// the secret that OCM's registration agent writes, and checks them by the policy
// at the time given. The error is a *BadCredentials.
func Load(data map[string][]byte, policy Policy, now time.Time) (*Credentials, error) {
	raw := data[KubeconfigKey]
	if len(raw) == 0 {
		return nil, bad(KubeconfigMissing, "there is no kubeconfig in it")
	}
	config, err := parse(raw)
	if err != nil {
		return nil, err
	}
	cluster, user, err := current(config)
	if err != nil {
		return nil, err
	}
	files := files(data)
	endpoint, err := loadEndpoint(files, cluster, policy)
	if err != nil {
		return nil, err
	}
	login, err := loadLogin(files, user, policy, now)
	if err != nil {
		return nil, err
	}
	return &Credentials{Endpoint: *endpoint, Login: *login}, nil
}

func parse(raw []byte) (*clientcmdapi.Config, error) {
	config := clientcmdapi.NewConfig()
	kind := schema.GroupVersionKind{Version: clientcmdlatest.Version, Kind: "Config"}
	if _, _, err := clientcmdlatest.Codec.Decode(raw, &kind, config); err != nil {
		return nil, bad(KubeconfigInvalid, "it does not parse: %s", oneLine(err))
	}
	return config, nil
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

// FilesOf are the names of the files that the current context of a kubeconfig
// needs, as the kubeconfig has them; none where it does not parse.
func FilesOf(raw []byte) []string {
	config, err := parse(raw)
	if err != nil {
		return nil
	}
	cluster, user, err := current(config)
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range []string{cluster.CertificateAuthority, user.ClientCertificate, user.ClientKey, user.TokenFile} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func loadEndpoint(files files, cluster *clientcmdapi.Cluster, policy Policy) (*Endpoint, error) {
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Host == "" || server.Scheme != "https" &&
		(server.Scheme != "http" || !policy.ByHand || !isLoopback(server.Hostname())) {
		return nil, bad(ServerInvalid, "the kubeconfig's server %q is no https URL", cluster.Server)
	}
	if err := checkProxy(cluster.ProxyURL); err != nil {
		return nil, err
	}
	ca, ok := files.read(cluster.CertificateAuthorityData, cluster.CertificateAuthority)
	if !ok {
		return nil, bad(CAMissing, "the kubeconfig's certificate-authority is the file %q, which is not there",
			cluster.CertificateAuthority)
	}
	if cluster.CertificateAuthority != "" && len(ca) == 0 || len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, bad(CAInvalid, "the kubeconfig's certificate-authority holds no PEM certificate")
	}
	return &Endpoint{
		Server: cluster.Server, CAData: ca, ServerName: cluster.TLSServerName,
		ProxyURL: cluster.ProxyURL, Insecure: cluster.InsecureSkipTLSVerify,
	}, nil
}

// proxySchemes are those that Go's HTTP client knows.
var proxySchemes = []string{"http", "https", "socks5"}

func checkProxy(raw string) error {
	if raw == "" {
		return nil
	}
	proxy, err := url.Parse(raw)
	if err != nil || proxy.Host == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
		return bad(ProxyInvalid, "the kubeconfig's proxy-url %q is no http, https or socks5 URL", redacted(proxy, raw))
	}
	return nil
}

// redacted keeps a proxy's password out of logs.
func redacted(parsed *url.URL, raw string) string {
	if parsed != nil {
		return parsed.Redacted()
	}
	return fmt.Sprintf("(%d characters)", len(raw))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// files are by name what lies beside a kubeconfig.
type files map[string][]byte

// read returns the inline data of a kubeconfig's field, or else the content of
// the file that the field names; false: it is not there.
func (f files) read(inline []byte, file string) ([]byte, bool) {
	if len(inline) > 0 || file == "" {
		return inline, true
	}
	content, ok := f[path.Clean(file)]
	return content, ok
}
