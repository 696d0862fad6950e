package klusterlet

import (
	"fmt"
	"net/http"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addoninformers "open-cluster-management.io/api/client/addon/informers/externalversions"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"k8s.io/klog/v2"
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
	var err error
	if m.http, err = rest.HTTPClientFor(m.config); err != nil {
		return nil, fmt.Errorf("create the managed cluster's client: %w", err)
	}
	for _, create := range []func() error{
		func() (err error) { m.kube, err = kubernetes.NewForConfigAndClient(m.config, m.http); return },
		func() (err error) { m.dynamic, err = dynamic.NewForConfigAndClient(m.config, m.http); return },
		func() (err error) {
			m.apiExtensions, err = apiextensions.NewForConfigAndClient(m.config, m.http)
			return
		},
		func() (err error) { m.cluster, err = clusterclient.NewForConfigAndClient(m.config, m.http); return },
		func() (err error) { m.work, err = workclient.NewForConfigAndClient(m.config, m.http); return },
	} {
		if err := create(); err != nil {
			return nil, fmt.Errorf("create the managed cluster's client: %w", err)
		}
	}
	return m, nil
}

// hub holds the clients of the hub that the registration agent uses, before or after it has
// joined.
type hub struct {
	*register.Clients
	connection *connection
	kube       kubernetes.Interface
	csrs       informers.SharedInformerFactory
}

// connect returns clients of the hub that the kubeconfig names. The caller closes the connection.
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

// createClients creates what register.BuildClientsFromConfig and CSRDriver.BuildClients do, but
// with one HTTP client, which belongs to this start of the agents. Theirs is cached for the whole
// process: a restarted agent would use the connection, and so the certificate, of the one before.
func (a *agents) createClients(h *hub) (err error) {
	config, client := h.connection.config, h.connection.client
	if h.kube, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	clusters, err := clusterclient.NewForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	addons, err := addonclient.NewForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	h.Clients = &register.Clients{
		ClusterClient: clusters,
		LeaseClient:   h.kube.CoordinationV1().Leases(a.Name),
		AddonClient:   addons,
		EventsClient:  h.kube.EventsV1(),
		ClusterInformer: clusterinformers.NewSharedInformerFactoryWithOptions(clusters, resync,
			clusterinformers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector("metadata.name", a.Name).String()
			})).Cluster().V1().ManagedClusters(),
		AddonInformer: addoninformers.NewSharedInformerFactoryWithOptions(addons, resync,
			addoninformers.WithNamespace(a.Name)).Addon().V1alpha1().ManagedClusterAddOns(),
	}
	h.csrs = informers.NewSharedInformerFactoryWithOptions(h.kube, resync,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = clusterv1.ClusterNameLabelKey + "=" + a.Name
		}))
	control, err := csr.NewCSRControl(klog.Background(), h.csrs.Certificates(), h.kube)
	if err != nil {
		return err
	}
	a.driver.SetAddonClients(&register.AddOnClients{AddonClient: addons, AddonInformer: h.AddonInformer})
	a.driver.SetTokenControl(token.NewTokenControl(h.kube.CoreV1()))
	return a.driver.SetCSRControl(control, a.Name)
}
