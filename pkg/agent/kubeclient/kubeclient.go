// Package kubeclient makes clients for the three kinds of object that the
// agent handles: ConfigMaps, Secrets and Leases.
//
// It exists because the generated clientset registers every API group of
// Kubernetes, which costs the agent megabytes of program and memory. The
// clients here are client-go's own generic ones (gentype) on a scheme of two
// groups, and speak protobuf. The package holds no credentials and makes no
// request of its own.
package kubeclient

import (
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// The clients of one namespace, with the usual verbs (Create, Update, Delete,
// Get, List, Watch, Patch).
type (
	ConfigMaps = gentype.ClientWithList[*corev1.ConfigMap, *corev1.ConfigMapList]
	Secrets    = gentype.ClientWithList[*corev1.Secret, *corev1.SecretList]
	Leases     = gentype.ClientWithList[*coordinationv1.Lease, *coordinationv1.LeaseList]
)

// Client reaches one API server. Its parts share the connections, but not the
// rate limit: the few requests for leases never queue behind those for
// ConfigMaps.
type Client struct {
	core         rest.Interface
	coordination rest.Interface
	parameters   runtime.ParameterCodec
}

// New makes a client of config, whose QPS and Burst apply to ConfigMaps and
// Secrets together. It makes no request.
func New(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	codecs := serializer.NewCodecFactory(scheme)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client for %s: %w", config.Host, err)
	}
	core, err := restClient(config, httpClient, codecs, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	coordination, err := restClient(config, httpClient, codecs, "/apis", coordinationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Client{core: core, coordination: coordination, parameters: runtime.NewParameterCodec(scheme)}, nil
}

func restClient(config *rest.Config, httpClient *http.Client, codecs serializer.CodecFactory,
	apiPath string, version schema.GroupVersion) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.APIPath = apiPath
	c.GroupVersion = &version
	c.NegotiatedSerializer = codecs.WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := rest.RESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", version, err)
	}
	return client, nil
}

// ConfigMaps returns the client for the ConfigMaps of namespace.
func (c *Client) ConfigMaps(namespace string) *ConfigMaps {
	return gentype.NewClientWithList("configmaps", c.core, c.parameters, namespace,
		func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		func() *corev1.ConfigMapList { return &corev1.ConfigMapList{} })
}

// Secrets returns the client for the Secrets of namespace.
func (c *Client) Secrets(namespace string) *Secrets {
	return gentype.NewClientWithList("secrets", c.core, c.parameters, namespace,
		func() *corev1.Secret { return &corev1.Secret{} },
		func() *corev1.SecretList { return &corev1.SecretList{} })
}

// Leases returns the client for the Leases of namespace.
func (c *Client) Leases(namespace string) *Leases {
	return gentype.NewClientWithList("leases", c.coordination, c.parameters, namespace,
		func() *coordinationv1.Lease { return &coordinationv1.Lease{} },
		func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} })
}
