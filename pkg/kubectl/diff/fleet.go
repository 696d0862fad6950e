package diff

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
)

// few is up to how many clusters are read one by one. Beyond, all clusters are read in lists.
const few = 20

// resource is a kind of object of which each cluster has one.
type resource struct {
	kind  string // as in messages
	lacks string // what is not known without it
	// prefixes are the paths of the API, the preferred version first. plural is the resource in the path.
	prefixes []string
	plural   string
	// namespaced objects have the name of the add-on.
	namespaced   bool
	metadataOnly bool
	// read decodes an object, and returns its cluster and how that is filled.
	read func(decode func(any) error) (string, func(*plan.Cluster), error)
}

// The resources, in the order in which they are read.
const (
	managedClusters = iota
	addOns
	mirrors
)

var resources = []resource{
	managedClusters: {
		kind: "ManagedClusters", lacks: "values are shown as $(NAME)",
		prefixes: []string{"/apis/" + clusterv1.GroupName + "/v1"}, plural: "managedclusters", read: readCluster,
	},
	addOns: {
		kind: "ManagedClusterAddOns", lacks: "the add-on is taken for enabled on every cluster", namespaced: true, metadataOnly: true,
		// OCM stores v1alpha1 and converts any other version by requests to a webhook.
		prefixes: []string{"/apis/" + addonv1alpha1.GroupName + "/v1alpha1", "/apis/" + addonv1alpha1.GroupName + "/v1beta1"}, plural: "managedclusteraddons", read: readAddOn,
	},
	mirrors: {
		kind: "ConfigMapMirrors", lacks: "conflicts on the clusters are not known", namespaced: true,
		prefixes: []string{"/apis/" + v1alpha1.GroupVersion.String()}, plural: "configmapmirrors", read: readMirror,
	},
}

func readCluster(decode func(any) error) (string, func(*plan.Cluster), error) {
	object := &clusterv1.ManagedCluster{}
	if err := decode(object); err != nil {
		return "", nil, err
	}
	// Nothing else is used, and a fleet has 5,000 of them.
	kept := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: object.Name, Labels: object.Labels, Annotations: object.Annotations},
		Spec:   clusterv1.ManagedClusterSpec{ManagedClusterClientConfigs: object.Spec.ManagedClusterClientConfigs, Taints: object.Spec.Taints},
		Status: clusterv1.ManagedClusterStatus{ClusterClaims: object.Status.ClusterClaims, Version: object.Status.Version}}
	for i := range kept.Spec.ManagedClusterClientConfigs {
		kept.Spec.ManagedClusterClientConfigs[i].CABundle = nil
	}
	return object.Name, func(c *plan.Cluster) { c.Managed = kept }, nil
}

func readAddOn(decode func(any) error) (string, func(*plan.Cluster), error) {
	object := &metav1.PartialObjectMetadata{}
	if err := decode(object); err != nil {
		return "", nil, err
	}
	deleting := object.DeletionTimestamp != nil
	return object.Namespace, func(c *plan.Cluster) { c.HasAddOn, c.Deleting = true, deleting }, nil
}

func readMirror(decode func(any) error) (string, func(*plan.Cluster), error) {
	object := &v1alpha1.ConfigMapMirror{}
	if err := decode(object); err != nil {
		return "", nil, err
	}
	return object.Namespace, func(c *plan.Cluster) {
		if object.Status != nil {
			c.Report(object.Status)
		}
	}, nil
}

// fleet is what was read of clusters.
type fleet struct {
	hub      *hub
	progress [3]progress // by resource

	mu       sync.Mutex
	clusters map[string]*plan.Cluster
}

// progress is what was read of a resource.
type progress struct {
	// loaded are the clusters that were read one by one, listed reports whether all were read.
	loaded map[string]bool
	listed bool
	err    error
}

func newFleet(h *hub) *fleet { return &fleet{hub: h, clusters: map[string]*plan.Cluster{}} }

// load reads a resource of these clusters.
func (f *fleet) load(ctx context.Context, i int, names []string) {
	r, p := resources[i], &f.progress[i]
	if p.loaded == nil {
		p.loaded = map[string]bool{}
	}
	var missing []string
	for _, name := range names {
		if !p.loaded[name] {
			missing = append(missing, name)
		}
	}
	if p.listed || len(missing) == 0 {
		return
	}
	if len(p.loaded)+len(missing) > few {
		p.listed, p.err = true, f.list(ctx, r)
		return
	}
	errs := make([]error, len(missing))
	each(len(missing), func(i int) { errs[i] = f.one(ctx, r, missing[i]) })
	for i, name := range missing {
		p.loaded[name] = true
		if p.err == nil {
			p.err = errs[i]
		}
	}
}

// add reads one object.
func (f *fleet) add(r resource, decode func(any) error) error {
	name, fill, err := r.read(decode)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusters[name] == nil {
		f.clusters[name] = &plan.Cluster{}
	}
	fill(f.clusters[name])
	return nil
}

// list reads the objects of all clusters.
func (f *fleet) list(ctx context.Context, r resource) error {
	var err error
	for _, prefix := range r.prefixes {
		list := listing.List{Path: prefix + "/" + r.plural, MetadataOnly: r.metadataOnly}
		if r.namespaced {
			list.Parameters = map[string]string{"fieldSelector": "metadata.name=" + manifests.AddonName}
		}
		_, err = f.hub.Each(ctx, list, func(decode func(any) error) error { return f.add(r, decode) })
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errNoResource, err)
}

// one reads the object of one cluster, if it exists.
func (f *fleet) one(ctx context.Context, r resource, cluster string) error {
	err := plan.CheckName(cluster)
	if err != nil {
		return err
	}
	for _, prefix := range r.prefixes {
		path := prefix + "/" + r.plural + "/" + cluster
		if r.namespaced {
			path = prefix + "/namespaces/" + cluster + "/" + r.plural + "/" + manifests.AddonName
		}
		err = f.add(r, func(into any) error { return f.hub.Get(ctx, path, into) })
		switch {
		case isNotServed(err):
			continue
		case apierrors.IsNotFound(err):
			return nil
		}
		return err
	}
	return fmt.Errorf("%w: %w", errNoResource, err)
}

// notRead returns what could not be read. ConfigMapMirrors that are not served are none: an older version of the add-on has
// none.
func (f *fleet) notRead() (all []plan.NotRead) {
	for i, r := range resources {
		if err := f.progress[i].err; err != nil && !(i == mirrors && isNoResource(err)) {
			all = append(all, plan.NotRead{Resource: r.kind, Error: err.Error(), Lacks: r.lacks})
		}
	}
	return all
}

// unknown returns the names of which there is no cluster.
func (f *fleet) unknown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return f.clusters[name] != nil && f.clusters[name].Managed != nil })
}
