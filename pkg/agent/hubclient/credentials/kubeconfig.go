package credentials

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

// KubeconfigKey is the key of the kubeconfig in the Secret. The kubeconfig names
// the other keys as files in its own directory.
const KubeconfigKey = "kubeconfig"

// Load returns the credentials in data, which holds a kubeconfig and the files
// that it names, for example the Secret that OCM's registration agent writes. The
// error is an *Error if the policy does not accept them at the time now.
func Load(data map[string][]byte, policy Policy, now time.Time) (*Credentials, error) {
	raw := data[KubeconfigKey]
	if len(raw) == 0 {
		return nil, Errorf(KubeconfigMissing, "it has no kubeconfig, or an empty one")
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
		return nil, Errorf(KubeconfigInvalid, "it does not parse: %s", OneLine(err))
	}
	return config, nil
}

// current returns the cluster and the user of the current context.
func current(config *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	if config.CurrentContext == "" {
		return nil, nil, Errorf(KubeconfigInvalid, "it has no current-context")
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok || context == nil {
		return nil, nil, Errorf(KubeconfigInvalid, "it has no context %q, which is its current-context", config.CurrentContext)
	}
	cluster, ok := config.Clusters[context.Cluster]
	if !ok || cluster == nil {
		return nil, nil, Errorf(KubeconfigInvalid, "it has no cluster %q", context.Cluster)
	}
	user, ok := config.AuthInfos[context.AuthInfo]
	if !ok || user == nil {
		return nil, nil, Errorf(KubeconfigInvalid, "it has no user %q", context.AuthInfo)
	}
	return cluster, user, nil
}

// FilesOf returns the names of the files that the current context of a kubeconfig
// needs, or none if it does not parse.
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
	if err != nil || server.Host == "" || server.Scheme != "https" && !policy.acceptsHTTP(server) {
		return nil, Errorf(ServerInvalid, "the kubeconfig's server %q is not an https URL", cluster.Server)
	}
	if err := checkProxy(cluster.ProxyURL); err != nil {
		return nil, err
	}
	ca, ok := files.read(cluster.CertificateAuthorityData, cluster.CertificateAuthority)
	if !ok {
		return nil, Errorf(CAMissing, "the kubeconfig's certificate-authority is the file %q, which does not exist",
			cluster.CertificateAuthority)
	}
	if cluster.CertificateAuthority != "" && len(ca) == 0 || len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, Errorf(CAInvalid, "the kubeconfig's certificate-authority holds no PEM certificate")
	}
	return &Endpoint{
		Server: cluster.Server, CAData: ca, ServerName: cluster.TLSServerName,
		ProxyURL: cluster.ProxyURL, Insecure: cluster.InsecureSkipTLSVerify,
	}, nil
}

// acceptsHTTP reports whether server is a plain HTTP URL that the policy accepts.
func (p Policy) acceptsHTTP(server *url.URL) bool {
	return server.Scheme == "http" && (p.AnyUser || p.ByHand && isLoopback(server.Hostname()))
}

// proxySchemes are the schemes that net/http supports. See
// https://pkg.go.dev/net/http#Transport
var proxySchemes = []string{"http", "https", "socks5"}

func checkProxy(raw string) error {
	if raw == "" {
		return nil
	}
	proxy, err := url.Parse(raw)
	if err != nil || proxy.Host == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
		return Errorf(ProxyInvalid, "the kubeconfig's proxy-url %q is not an http, https or socks5 URL", redacted(proxy, raw))
	}
	return nil
}

// redacted returns a URL for messages, without the password.
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

// files holds the content of the files that a kubeconfig may name.
type files map[string][]byte

// read returns the inline data of a kubeconfig's field, or else the content of
// the file that the field names. It returns false if the file does not exist.
func (f files) read(inline []byte, file string) ([]byte, bool) {
	if len(inline) > 0 || file == "" {
		return inline, true
	}
	content, ok := f[path.Clean(file)]
	return content, ok
}

// Kinds returns the kinds of credentials that the user of the current context
// has, for example a client certificate and a token. A client that has both sends
// both, and the API server uses the certificate.
func Kinds(kubeconfig []byte) ([]string, error) {
	config, err := parse(kubeconfig)
	if err != nil {
		return nil, err
	}
	_, user, err := current(config)
	if err != nil {
		return nil, err
	}
	return kindsOf(user), nil
}

func kindsOf(user *clientcmdapi.AuthInfo) []string {
	var kinds []string
	for _, kind := range []struct {
		name  string
		there bool
	}{
		{"a client certificate", user.ClientCertificate != "" || len(user.ClientCertificateData) > 0},
		{"a token", user.Token != "" || user.TokenFile != ""},
		{"a password", user.Username != "" || user.Password != ""},
		{"a program (exec)", user.Exec != nil},
		{"an auth-provider", user.AuthProvider != nil},
	} {
		if kind.there {
			kinds = append(kinds, kind.name)
		}
	}
	return kinds
}
