package runtest

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
)

// NewAPI starts an API server without authentication.
func NewAPI(t *testing.T) *fakeapi.Server {
	t.Helper()
	api := fakeapi.New()
	api.Start()
	t.Cleanup(api.Close)
	return api
}

// NewHub starts an API server that accepts the client certificates of an authority. It
// calls connected, if not nil, with the serial number of each certificate that
// connects.
func NewHub(t *testing.T, authority *fakepki.Authority, connected func(serial string)) *fakeapi.Server {
	t.Helper()
	config := authority.HubTLS()
	if connected != nil {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			connected(state.PeerCertificates[0].SerialNumber.String())
			return nil
		}
	}
	hub := fakeapi.New()
	hub.HTTP().TLS = config
	hub.HTTP().EnableHTTP2 = true
	hub.HTTP().StartTLS()
	t.Cleanup(hub.Close)
	return hub
}

// Kubeconfig writes a kubeconfig file for a server without authentication.
func Kubeconfig(t *testing.T, server *fakeapi.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server.Config().Host)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// NoCluster makes the environment of the test one without a cluster: no $KUBECONFIG, no
// pod, and another file in place of ~/.kube/config, which does not exist.
func NoCluster(t *testing.T) {
	t.Helper()
	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	home := clientcmd.RecommendedHomeFile
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = home })
	clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "config")
}
