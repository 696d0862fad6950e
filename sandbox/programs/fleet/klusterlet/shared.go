package klusterlet

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	aboutclient "sigs.k8s.io/about-api/pkg/generated/clientset/versioned"
	aboutinformers "sigs.k8s.io/about-api/pkg/generated/informers/externalversions"
	aboutv1alpha1 "sigs.k8s.io/about-api/pkg/generated/informers/externalversions/apis/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// Shared holds what all clusters share: what has no state of a cluster, for example the kinds that
// every cluster has, and limits on what they do together.
type Shared struct {
	// conditions evaluates condition rules.
	conditions *conditions.ConditionReader
	kinds      meta.RESTMapper
	// properties is never started: OCM's feature gate ClusterProperty is off by default.
	properties aboutv1alpha1.ClusterPropertyInformer

	joins  turns
	errors *errorLimit

	// healthPeriod is the period of the check that ends the agents when their certificate
	// has expired, addonLeasePeriod that with which they read the add-ons' leases.
	healthPeriod, addonLeasePeriod time.Duration
}

const (
	// defaultHealthPeriod is longer than a kubelet's period of liveness probes: the check
	// reads files.
	defaultHealthPeriod = time.Minute
	// defaultAddonLeasePeriod is OCM's.
	defaultAddonLeasePeriod = 30 * time.Second
)

// NewShared returns what the clusters share. The managed cluster is one without CRDs of its own:
// its kinds are taken for those that every cluster has.
func NewShared(managed *rest.Config) (*Shared, error) {
	reader, err := conditions.NewConditionReader()
	if err != nil {
		return nil, fmt.Errorf("create the reader of conditions: %w", err)
	}
	kinds, err := discover(managed)
	if err != nil {
		return nil, err
	}
	properties, err := aboutclient.NewForConfig(managed)
	if err != nil {
		return nil, fmt.Errorf("create a client of cluster properties: %w", err)
	}
	return &Shared{
		conditions:       reader,
		kinds:            kinds,
		properties:       aboutinformers.NewSharedInformerFactory(properties, resync).About().V1alpha1().ClusterProperties(),
		joins:            newTurns(maxJoins, joinLimit),
		errors:           newErrorLimit(maxErrors),
		healthPeriod:     defaultHealthPeriod,
		addonLeasePeriod: defaultAddonLeasePeriod,
	}, nil
}

func discover(managed *rest.Config) (meta.RESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(managed)
	if err != nil {
		return nil, fmt.Errorf("create the client of the managed cluster's kinds: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, fmt.Errorf("discover the managed cluster's kinds: %w", err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// mapper returns the kinds of one cluster: the shared ones, and those of its CRDs, which it
// discovers when they are used.
func (s *Shared) mapper(managed *managedClients) (meta.RESTMapper, error) {
	own, err := apiutil.NewDynamicRESTMapper(managed.config, managed.http)
	if err != nil {
		return nil, fmt.Errorf("create the mapper of the managed cluster's kinds: %w", err)
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{s.kinds, own}}, nil
}
