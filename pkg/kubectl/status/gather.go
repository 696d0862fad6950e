package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

// result is what was read of one resource.
type result struct {
	entries map[string]entry
	// path and version are where a watch goes on.
	path, version string
	err           error
}

// findings is what was read of the hub.
type findings struct {
	results [resourceCount]result
	// missing reports whether the hub has no ClusterManagementAddOn of the add-on.
	missing bool
}

// gather reads everything at the same time.
func (h *hub) gather(ctx context.Context, resources [resourceCount]resource) *findings {
	found := &findings{}
	var group sync.WaitGroup
	group.Go(func() { found.missing = h.isMissing(ctx) })
	for i, r := range resources {
		group.Go(func() {
			found.results[i] = h.read(ctx, r)
		})
	}
	group.Wait()
	return found
}

func (h *hub) read(ctx context.Context, r resource) result {
	var read result
	read.entries, read.path, read.version, read.err = h.list(ctx, r)
	return read
}

// isMissing reports whether the hub has no ClusterManagementAddOn of the add-on. A user who may not read it may
// read the rest.
func (h *hub) isMissing(ctx context.Context) bool {
	var object struct{}
	err := h.Get(ctx, addonAPI+"v1alpha1"+management, &object)
	if apierrors.IsNotFound(err) {
		err = h.Get(ctx, addonAPI+"v1beta1"+management, &object)
	}
	return apierrors.IsNotFound(err)
}

// selector returns the label selector of ManagedClusters for the flags --selector and --clusterset.
func (h *hub) selector(ctx context.Context, labelSelector, clusterSet string) (string, error) {
	selector, err := labels.Parse(labelSelector)
	if err != nil || clusterSet == "" {
		return labelSelector, err
	}
	set := &clusterv1beta2.ManagedClusterSet{}
	err = h.Get(ctx, "/apis/"+clusterv1.GroupName+"/v1beta2/managedclustersets/"+clusterSet, set)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("--clusterset=%s: there is no such ManagedClusterSet: kubectl get managedclustersets lists them", clusterSet)
	}
	if err != nil {
		return "", fmt.Errorf("get ManagedClusterSet %s: %w", clusterSet, err)
	}
	members := labels.SelectorFromSet(labels.Set{clusterv1beta2.ClusterSetLabel: clusterSet})
	if set.Spec.ClusterSelector.SelectorType == clusterv1beta2.LabelSelector {
		if members, err = metav1.LabelSelectorAsSelector(set.Spec.ClusterSelector.LabelSelector); err != nil {
			return "", fmt.Errorf("label selector of ManagedClusterSet %s: %w", clusterSet, err)
		}
	}
	requirements, selectable := members.Requirements()
	if !selectable {
		return "", fmt.Errorf("--clusterset=%s: ManagedClusterSet %s selects no cluster", clusterSet, clusterSet)
	}
	return selector.Add(requirements...).String(), nil
}

// problem returns why there is nothing to report, or nil.
func (f *findings) problem(host string) error {
	clustersErr, addOnsErr := f.results[clusters].err, f.results[addOns].err
	for _, i := range []int{clusters, addOns} {
		if errors.Is(f.results[i].err, errNotServed) {
			return fmt.Errorf("%s is not a hub of Open Cluster Management: it serves no %s; name the hub by --context or --kubeconfig, "+
				"or install OCM there (clusteradm init)", host, resourcesFor("")[i].kind)
		}
	}
	switch {
	case clustersErr != nil && addOnsErr != nil:
		return fmt.Errorf("list ManagedClusterAddOns of %s: %w", host, addOnsErr)
	case f.missing && addOnsErr == nil && len(f.results[addOns].entries) == 0:
		return fmt.Errorf("the add-on is not installed on the hub %s: there is no ClusterManagementAddOn %s; to install it: "+
			"https://github.com/open-cluster-management-io/helloworld-addon/blob/main/docs/install.md", host, manifests.AddonName)
	}
	return nil
}

// notRead returns the resources that could not be read. ConfigMapMirrors that are not served are none: an older
// version of the add-on has none.
func (f *findings) notRead() []report.NotRead {
	var all []report.NotRead
	for i, r := range resourcesFor("") {
		if err := f.results[i].err; err != nil && !(i == mirrors && errors.Is(err, errNotServed)) {
			all = append(all, report.NotRead{Resource: r.kind, Error: err.Error(), Stale: f.results[i].entries != nil})
		}
	}
	return all
}

// selection is which clusters are reported.
type selection struct {
	// names are those of the clusters; empty means all.
	names []string
	// selected reports whether the ManagedClusters were selected by labels, so that a cluster without a
	// ManagedCluster is not selected.
	selected bool
}

// input returns what the report is made of.
func (f *findings) input(s selection, now time.Time) report.Input {
	facts := map[string]*report.Facts{}
	of := func(name string) *report.Facts {
		if facts[name] == nil {
			facts[name] = &report.Facts{Name: name}
		}
		return facts[name]
	}
	for i, r := range f.results {
		// In the order of their names, so that two objects for one cluster give the same report each time.
		for _, key := range slices.Sorted(maps.Keys(r.entries)) {
			e := r.entries[key]
			// A cluster is one that has a ManagedCluster or the add-on. Where neither can be
			// read, there is no report.
			if i == clusters && s.wants(e.cluster) || i == addOns && s.wants(e.cluster) && !s.selected || facts[e.cluster] != nil {
				e.fill(of(e.cluster))
			}
		}
	}
	// What was read once stays while a later list fails.
	in := report.Input{ClustersRead: f.results[clusters].entries != nil, AddOnsRead: f.results[addOns].entries != nil, NotRead: f.notRead(), Now: now}
	for _, one := range facts {
		in.Clusters = append(in.Clusters, *one)
	}
	return in
}

func (s selection) wants(name string) bool {
	return len(s.names) == 0 || slices.Contains(s.names, name)
}

// unknown returns an error that lists the named clusters that the report lacks, or nil.
func (s selection) unknown(r *report.Report) error {
	var errs []error
	for _, name := range s.names {
		if !slices.ContainsFunc(r.Clusters, func(row report.Row) bool { return row.Name == name }) {
			errs = append(errs, fmt.Errorf("cluster %q not found: there is neither a ManagedCluster nor a ManagedClusterAddOn of it", name))
		}
	}
	return errors.Join(errs...)
}
