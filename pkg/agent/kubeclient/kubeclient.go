// Package kubeclient has the clients of the programs on a managed cluster: for
// ConfigMaps, Secrets, ServiceAccounts, Pods, Events, Leases and
// SelfSubjectAccessReviews, and for ManagedClusterAddOns and ConfigMapMirrors on the hub.
//
// It exists because the generated clientset registers every API group of
// Kubernetes, which costs the agent megabytes of program and memory. The clients
// here are client-go's generic ones
// (https://github.com/kubernetes/client-go/tree/v0.35.4/gentype) with a scheme of
// the few types that are used. They speak protobuf where the API server does. The
// package sends no request of its own.
package kubeclient

import (
	"fmt"
	"net/http"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// The clients of one namespace, each with the verbs Create, Update, Delete, Get and
// Patch, and those with a list type with List and Watch.
type (
	// ConfigMaps is the client for the ConfigMaps of a namespace.
	ConfigMaps = gentype.ClientWithList[*corev1.ConfigMap, *corev1.ConfigMapList]
	// Secrets is the client for the Secrets of a namespace.
	Secrets = gentype.ClientWithList[*corev1.Secret, *corev1.SecretList]
	// Pods is the client for the Pods of a namespace.
	Pods = gentype.ClientWithList[*corev1.Pod, *corev1.PodList]
	// ServiceAccounts is the client for the ServiceAccounts of a namespace.
	ServiceAccounts = gentype.Client[*corev1.ServiceAccount]
	// Events is the client for the Events of a namespace.
	Events = gentype.Client[*corev1.Event]
	// AddOns is the client for the ManagedClusterAddOns of a namespace on the hub.
	AddOns = gentype.ClientWithList[*addonv1alpha1.ManagedClusterAddOn, *addonv1alpha1.ManagedClusterAddOnList]
	// Mirrors is the client for the ConfigMapMirrors of a namespace on the hub.
	Mirrors = gentype.Client[*v1alpha1.ConfigMapMirror]
	// SelfSubjectAccessReviews is the client that asks for the rights of its user.
	SelfSubjectAccessReviews = gentype.Client[*authorizationv1.SelfSubjectAccessReview]
	// Leases is the client for the Leases of a namespace.
	Leases = gentype.ClientWithList[*coordinationv1.Lease, *coordinationv1.LeaseList]
)

// Client has the clients for one API server. They share the connections. The rate
// limit applies per API group, and to events separately, so that the few requests
// for leases, events and the add-on never queue behind those for ConfigMaps.
type Client struct {
	core          rest.Interface
	coordination  rest.Interface
	addon         rest.Interface
	own           rest.Interface
	events        rest.Interface
	authorization rest.Interface
	parameters    runtime.ParameterCodec
}

// types is what clients know of the API types. All clients of a process share it,
// because the scheme is large and never changes.
type types struct {
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
}

var knownTypes = sync.OnceValues(func() (types, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme, authorizationv1.AddToScheme, addAddOns, addMirrors} {
		if err := add(scheme); err != nil {
			return types{}, fmt.Errorf("register API types: %w", err)
		}
	}
	return types{codecs: serializer.NewCodecFactory(scheme), parameters: runtime.NewParameterCodec(scheme)}, nil
})

// New returns a Client for config, whose QPS and Burst apply to ConfigMaps and
// Secrets together. It sends no request.
func New(config *rest.Config) (*Client, error) {
	known, err := knownTypes()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client for %s: %w", config.Host, err)
	}
	c := &Client{parameters: known.parameters}
	for _, group := range []struct {
		client      *rest.Interface
		path        string
		version     schema.GroupVersion
		contentType string
	}{
		{&c.core, "/api", corev1.SchemeGroupVersion, runtime.ContentTypeProtobuf},
		{&c.events, "/api", corev1.SchemeGroupVersion, runtime.ContentTypeProtobuf},
		{&c.coordination, "/apis", coordinationv1.SchemeGroupVersion, runtime.ContentTypeProtobuf},
		{&c.authorization, "/apis", authorizationv1.SchemeGroupVersion, runtime.ContentTypeProtobuf},
		// The API server has no protobuf for custom resources.
		{&c.addon, "/apis", addonVersion, runtime.ContentTypeJSON},
		{&c.own, "/apis", v1alpha1.GroupVersion, runtime.ContentTypeJSON},
	} {
		if *group.client, err = restClient(config, httpClient, known.codecs, group.path, group.version, group.contentType); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// addonVersion is the version of the add-on API that OCM stores. Requests for it
// also succeed while OCM's conversion webhook does not answer.
var addonVersion = schema.GroupVersion{Group: addonv1alpha1.GroupName, Version: addonv1alpha1.GroupVersion.Version}

// addAddOns registers the one type of the group that is used.
func addAddOns(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(addonVersion, &addonv1alpha1.ManagedClusterAddOn{}, &addonv1alpha1.ManagedClusterAddOnList{})
	metav1.AddToGroupVersion(scheme, addonVersion)
	return nil
}

// addMirrors registers the one type of the add-on's own API that is used.
func addMirrors(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &v1alpha1.ConfigMapMirror{})
	metav1.AddToGroupVersion(scheme, v1alpha1.GroupVersion)
	return nil
}

func restClient(config *rest.Config, httpClient *http.Client, codecs serializer.CodecFactory,
	apiPath string, version schema.GroupVersion, contentType string) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.APIPath = apiPath
	c.GroupVersion = &version
	c.NegotiatedSerializer = codecs.WithoutConversion()
	c.ContentType = contentType
	if contentType != runtime.ContentTypeJSON {
		c.AcceptContentTypes = contentType + "," + runtime.ContentTypeJSON
	}
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

// Pods returns the client for the Pods of namespace.
func (c *Client) Pods(namespace string) *Pods {
	return gentype.NewClientWithList("pods", c.core, c.parameters, namespace,
		func() *corev1.Pod { return &corev1.Pod{} },
		func() *corev1.PodList { return &corev1.PodList{} })
}

// Leases returns the client for the Leases of namespace.
func (c *Client) Leases(namespace string) *Leases {
	return gentype.NewClientWithList("leases", c.coordination, c.parameters, namespace,
		func() *coordinationv1.Lease { return &coordinationv1.Lease{} },
		func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} })
}

// ServiceAccounts returns the client for the ServiceAccounts of namespace.
func (c *Client) ServiceAccounts(namespace string) *ServiceAccounts {
	return gentype.NewClient("serviceaccounts", c.core, c.parameters, namespace,
		func() *corev1.ServiceAccount { return &corev1.ServiceAccount{} })
}

// SelfSubjectAccessReviews returns the client for reviews of the own rights.
func (c *Client) SelfSubjectAccessReviews() *SelfSubjectAccessReviews {
	return gentype.NewClient("selfsubjectaccessreviews", c.authorization, c.parameters, "",
		func() *authorizationv1.SelfSubjectAccessReview { return &authorizationv1.SelfSubjectAccessReview{} })
}

// Events returns the client for the Events of namespace.
func (c *Client) Events(namespace string) *Events {
	return gentype.NewClient("events", c.events, c.parameters, namespace,
		func() *corev1.Event { return &corev1.Event{} })
}

// AddOns returns the client for the ManagedClusterAddOns of namespace.
func (c *Client) AddOns(namespace string) *AddOns {
	return gentype.NewClientWithList("managedclusteraddons", c.addon, c.parameters, namespace,
		func() *addonv1alpha1.ManagedClusterAddOn { return &addonv1alpha1.ManagedClusterAddOn{} },
		func() *addonv1alpha1.ManagedClusterAddOnList { return &addonv1alpha1.ManagedClusterAddOnList{} })
}

// Mirrors returns the client for the ConfigMapMirrors of namespace.
func (c *Client) Mirrors(namespace string) *Mirrors {
	return gentype.NewClient("configmapmirrors", c.own, c.parameters, namespace,
		func() *v1alpha1.ConfigMapMirror { return &v1alpha1.ConfigMapMirror{} })
}
