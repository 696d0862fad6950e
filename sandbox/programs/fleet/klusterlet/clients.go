package klusterlet

import (
	"fmt"
	"net/http"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	certificatesinformers "k8s.io/client-go/informers/certificates"
	certificatesv1informers "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1alpha1"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/ocm/pkg/registration/register"
	"open-cluster-management.io/ocm/pkg/registration/register/csr"
	"open-cluster-management.io/ocm/pkg/registration/register/token"
)

// managedClients are the agents' clients of the managed cluster.
type managedClients struct {
	config        *rest.Config
	http          *http.Client
	kube          kubernetes.Interface
	dynamic       dynamic.Interface
	apiExtensions apiextensions.Interface
	cluster       clusterclient.Interface
	work          workclient.Interface
}

func newManagedClients(config *rest.Config) (*managedClients, error) {
	m := &managedClients{config: config}
	for _, create := range []func() error{
		func() (err error) { m.http, err = rest.HTTPClientFor(config); return },
		func() (err error) { m.kube, err = kubernetes.NewForConfigAndClient(config, m.http); return },
		func() (err error) { m.dynamic, err = dynamic.NewForConfigAndClient(config, m.http); return },
		func() (err error) { m.apiExtensions, err = apiextensions.NewForConfigAndClient(config, m.http); return },
		func() (err error) { m.cluster, err = clusterclient.NewForConfigAndClient(config, m.http); return },
		func() (err error) { m.work, err = workclient.NewForConfigAndClient(config, m.http); return },
	} {
		if err := create(); err != nil {
			return nil, fmt.Errorf("create a client of the managed cluster: %w", err)
		}
	}
	return m, nil
}

// hub has the registration agent's clients and caches of the hub.
type hub struct {
	connection *connection

	core         coreclient.CoreV1Interface
	certificates certificatesclient.CertificatesV1Interface
	coordination coordinationclient.CoordinationV1Interface
	events       eventsclient.EventsV1Interface
	cluster      clusterclient.Interface
	addon        addonclient.Interface

	clusters informerOf[clusterlisters.ManagedClusterLister]
	addons   informerOf[addonlisters.ManagedClusterAddOnLister]
	csrs     informerOf[certificateslisters.CertificateSigningRequestLister]
}

// connect returns the clients of the hub that the kubeconfig names, and gives them to the driver.
// The caller closes the connection.
//
// It does what OCM's CSRDriver.BuildClients does, but all clients have the connection of this start
// of the agents.
func (a *agents) connect(kubeconfig string) (*hub, error) {
	connection, err := newConnection(kubeconfig)
	if err != nil {
		return nil, err
	}
	h := &hub{connection: connection}
	if err := a.createClients(h); err != nil {
		connection.close()
		return nil, fmt.Errorf("create the clients of the hub: %w", err)
	}
	return h, nil
}

func (a *agents) createClients(h *hub) error {
	config, client := h.connection.config, h.connection.client
	for _, create := range []func() error{
		func() (err error) { h.core, err = coreclient.NewForConfigAndClient(config, client); return },
		func() (err error) {
			h.certificates, err = certificatesclient.NewForConfigAndClient(config, client)
			return
		},
		func() (err error) {
			h.coordination, err = coordinationclient.NewForConfigAndClient(config, client)
			return
		},
		func() (err error) { h.events, err = eventsclient.NewForConfigAndClient(config, client); return },
		func() (err error) { h.cluster, err = clusterclient.NewForConfigAndClient(config, client); return },
		func() (err error) { h.addon, err = addonclient.NewForConfigAndClient(config, client); return },
	} {
		if err := create(); err != nil {
			return err
		}
	}
	h.clusters = newInformer(h.cluster.ClusterV1().ManagedClusters(),
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", a.Name).String()},
		&clusterv1.ManagedCluster{}, resync, clusterlisters.NewManagedClusterLister)
	h.addons = newInformer(h.addon.AddonV1alpha1().ManagedClusterAddOns(a.Name), metav1.ListOptions{},
		&addonv1alpha1.ManagedClusterAddOn{}, resync, addonlisters.NewManagedClusterAddOnLister)
	h.csrs = newInformer(h.certificates.CertificateSigningRequests(),
		metav1.ListOptions{LabelSelector: clusterv1.ClusterNameLabelKey + "=" + a.Name},
		&certificatesv1.CertificateSigningRequest{}, resync, certificateslisters.NewCertificateSigningRequestLister)

	control, err := csr.NewCSRControl(klog.Background(), csrGroup{hub: h}, csrClient{hub: h})
	if err != nil {
		return err
	}
	a.driver.SetAddonClients(&register.AddOnClients{AddonClient: h.addon, AddonInformer: h.addons})
	a.driver.SetTokenControl(token.NewTokenControl(h.core))
	return a.driver.SetCSRControl(control, a.Name)
}

// csrClient is a client with the part that csr.NewCSRControl uses: a whole client has clients of
// all groups.
type csrClient struct {
	kubernetes.Interface
	hub *hub
}

// CertificatesV1 returns the client of CSRs.
func (c csrClient) CertificatesV1() certificatesclient.CertificatesV1Interface {
	return c.hub.certificates
}

// csrGroup has the part of the informers that csr.NewCSRControl uses.
type csrGroup struct {
	certificatesinformers.Interface
	hub *hub
}

// V1 returns the informers of the version v1.
func (c csrGroup) V1() certificatesv1informers.Interface { return csrVersion{hub: c.hub} }

type csrVersion struct {
	certificatesv1informers.Interface
	hub *hub
}

// CertificateSigningRequests returns the informer of CSRs.
func (c csrVersion) CertificateSigningRequests() certificatesv1informers.CertificateSigningRequestInformer {
	return c.hub.csrs
}
