package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/definitions"
)

const namespace = "bench"

// globalHub is a kube-apiserver with its etcd.
type globalHub struct {
	environment *envtest.Environment
	config      *rest.Config
	client      client.Client
	dir         string
}

func startHub(ctx context.Context, options *Options) (*globalHub, error) {
	files, err := definitions.Files(ctx, options.Top)
	if err != nil {
		return nil, err
	}
	programs, err := filepath.Abs(options.Programs)
	if err != nil {
		return nil, err
	}
	h := &globalHub{environment: &envtest.Environment{
		BinaryAssetsDirectory:    programs,
		CRDInstallOptions:        envtest.CRDInstallOptions{Paths: files, ErrorIfPathMissing: true},
		ControlPlaneStartTimeout: options.Patience,
		ControlPlaneStopTimeout:  options.Patience,
	}}
	if h.config, err = h.environment.Start(); err != nil {
		return nil, fmt.Errorf("start the global hub: %w", err)
	}
	h.config.QPS, h.config.Burst = 1000, 2000
	if h.client, err = client.New(h.config, client.Options{}); err != nil {
		return nil, err
	}
	if h.dir, err = os.MkdirTemp("", "bench-status-"); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	object.SetName(namespace)
	return h, h.client.Create(ctx, object)
}

func (h *globalHub) stop() error {
	if err := os.RemoveAll(h.dir); err != nil {
		return err
	}
	return h.environment.Stop()
}

// kubeconfig writes a file for the status sync.
func (h *globalHub) kubeconfig() (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: address(h.config), CertificateAuthorityData: h.config.CAData}
	config.AuthInfos["bench"] = &clientcmdapi.AuthInfo{ClientCertificateData: h.config.CertData, ClientKeyData: h.config.KeyData}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "bench"}
	config.CurrentContext = "hub"
	file := filepath.Join(h.dir, "kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// policy creates a Policy and returns it with its uid.
func (h *globalHub) policy(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"disabled": false, "policy-templates": []any{}},
	}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"})
	object.SetNamespace(namespace)
	object.SetName(name)
	return object, h.client.Create(ctx, object)
}

// address is the global hub's URL.
func address(config *rest.Config) string {
	return "https://" + strings.TrimSuffix(strings.TrimPrefix(config.Host, "https://"), "/")
}
