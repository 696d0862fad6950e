package klusterlet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/memapi"
)

const clusterName = "fleet-0001"

// fakeHub is an API in memory, served by HTTPS to clients with a certificate of its authority. It
// plays the controllers that sign certificates and accept clusters. It checks no RBAC.
type fakeHub struct {
	kube    kubernetes.Interface
	cluster clusterclient.Interface
	work    workclient.Interface
	addon   addonclient.Interface

	authority  *x509.Certificate
	key        *ecdsa.PrivateKey
	kubeconfig []byte // of the bootstrap user

	// life is that of the certificates; slowCreate delays the creation of ManagedClusters.
	life, slowCreate atomic.Int64
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	server := memapi.NewServer(memapi.Options{})
	config := server.Add(t.Context(), "hub").Config()
	h := &fakeHub{kube: kubernetes.NewForConfigOrDie(config), cluster: clusterclient.NewForConfigOrDie(config),
		work: workclient.NewForConfigOrDie(config), addon: addonclient.NewForConfigOrDie(config)}
	h.life.Store(int64(time.Hour))
	h.createAuthority(t)
	crds := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{
		crd("cluster.open-cluster-management.io", "v1", "ManagedCluster", apiextensionsv1.ClusterScoped),
		crd("work.open-cluster-management.io", "v1", "ManifestWork", apiextensionsv1.NamespaceScoped),
		crd("addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", apiextensionsv1.NamespaceScoped),
	} {
		if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusterName}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.serve(t, server.Handler("token"))
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := h.control(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("fake hub: %v", err)
			}
		}, 20*time.Millisecond)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return h
}

func crd(group, version, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	name := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name + "s." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: name + "s", Singular: name, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}}}},
	}
}

func (h *fakeHub) createAuthority(t *testing.T) {
	t.Helper()
	var err error
	if h.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, h.key.Public(), h.key)
	if err != nil {
		t.Fatal(err)
	}
	if h.authority, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
}

// sign returns a certificate as PEM.
func (h *fakeHub) sign(subject pkix.Name, key any, life time.Duration) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, h.authority, key, h.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// serve serves the hub, and writes the bootstrap user's kubeconfig.
func (h *fakeHub) serve(t *testing.T, api http.Handler) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/managedclusters") {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Duration(h.slowCreate.Load())):
			}
		}
		r.Header.Set("Authorization", "Bearer token")
		r.URL.Path = "/clusters/hub" + r.URL.Path
		api.ServeHTTP(w, r)
	}))
	clients := x509.NewCertPool()
	clients.AddCert(h.authority)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := h.sign(pkix.Name{CommonName: "bootstrap-user"}, key.Public(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: keyPEM}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "user"}
	config.CurrentContext = "hub"
	if h.kubeconfig, err = clientcmd.Write(*config); err != nil {
		t.Fatal(err)
	}
}

// control signs certificates and accepts clusters.
func (h *fakeHub) control(ctx context.Context) error {
	csrs, err := h.kube.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, csr := range csrs.Items {
		if len(csr.Status.Certificate) > 0 {
			continue
		}
		if err := h.approve(ctx, &csr); err != nil {
			return err
		}
	}
	clusters, err := h.cluster.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, cluster := range clusters.Items {
		if meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
			continue
		}
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionHubAccepted,
			Status: metav1.ConditionTrue, Reason: "Accepted"})
		if _, err := h.cluster.ClusterV1().ManagedClusters().UpdateStatus(ctx, &cluster, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (h *fakeHub) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	block, _ := pem.Decode(csr.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if csr.Status.Certificate, err = h.sign(request.Subject, request.PublicKey, time.Duration(h.life.Load())); err != nil {
		return err
	}
	_, err = h.kube.CertificatesV1().CertificateSigningRequests().UpdateStatus(ctx, csr, metav1.UpdateOptions{})
	return err
}

// fakeCluster is a managed cluster in memory and its agents.
type fakeCluster struct {
	options Options
	shared  *Shared
	kube    kubernetes.Interface
}

func newFakeCluster(t *testing.T, h *fakeHub) *fakeCluster {
	t.Helper()
	if err := SetFeatureGates(); err != nil {
		t.Fatal(err)
	}
	config := memapi.NewServer(memapi.Options{ReadyAfter: 10 * time.Millisecond}).Add(t.Context(), clusterName).Config()
	c := &fakeCluster{kube: kubernetes.NewForConfigOrDie(config),
		options: Options{Name: clusterName, Dir: t.TempDir(), Managed: config, AddonAuth: AuthCSR, StatusSync: 100 * time.Millisecond}}
	var err error
	if c.shared, err = NewShared(config); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(c.options.bootstrapFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.options.bootstrapFile(), h.kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// run starts the agents. The returned function ends them and returns the error of Run.
func (c *fakeCluster) run(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Run(ctx, c.options, c.shared) }()
	return func() error {
		cancel()
		return <-result
	}
}

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// joined reports whether the cluster is joined and available on the hub.
func (h *fakeHub) joined(ctx context.Context) (bool, error) {
	cluster, err := h.cluster.ClusterV1().ManagedClusters().Get(ctx, clusterName, metav1.GetOptions{})
	if err != nil {
		return false, nil //nolint:nilerr // not yet
	}
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined) &&
		meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable), nil
}
