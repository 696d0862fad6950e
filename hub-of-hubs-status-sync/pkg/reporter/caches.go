package reporter

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// caches hold what is watched. A kind of which only some objects are reported has
// a cache of its own: the manager's could select them too, but then asks for the
// kind at its start, and a hub that does not serve it could not be reported.
type caches struct {
	shared cache.Cache
	own    map[status.Kind]cache.Cache
}

// newCaches makes the caches; the manager runs them.
func newCaches(mgr manager.Manager, namespaces []string) (*caches, error) {
	selected, err := selections()
	if err != nil {
		return nil, err
	}
	all := &caches{shared: mgr.GetCache(), own: map[status.Kind]cache.Cache{}}
	for kind, options := range selected {
		options.HTTPClient, options.Scheme, options.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
		options.DefaultTransform = trim
		for _, namespace := range namespaces {
			if options.DefaultNamespaces == nil {
				options.DefaultNamespaces = map[string]cache.Config{}
			}
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
		if all.own[kind], err = cache.New(mgr.GetConfig(), options); err != nil {
			return nil, fmt.Errorf("make a cache of %s: %w", kind, err)
		}
		if err := mgr.Add(all.own[kind]); err != nil {
			return nil, fmt.Errorf("add a cache of %s: %w", kind, err)
		}
	}
	return all, nil
}

// selections say which objects of a kind are watched; of the others all are.
func selections() (map[status.Kind]cache.Options, error) {
	notCopied, err := labels.NewRequirement(labelRootPolicy, selection.DoesNotExist, nil)
	if err != nil {
		return nil, fmt.Errorf("select the policies: %w", err)
	}
	return map[status.Kind]cache.Options{
		status.KindPolicy: {DefaultLabelSelector: labels.NewSelector().Add(*notCopied)},
		// Its right is for this name alone, too.
		status.KindManagedClusterAddOn: {DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", manifests.AddonName)},
	}, nil
}

func (c *caches) of(kind status.Kind) cache.Cache {
	if own, found := c.own[kind]; found {
		return own
	}
	return c.shared
}

// informer watches a kind; it does not wait until all of it is known.
func (c *caches) informer(ctx context.Context, kind status.Kind) (cache.Informer, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kinds[kind])
	return c.of(kind).GetInformer(ctx, object, cache.BlockUntilSynced(false))
}

// get returns an object as it was known last.
func (c *caches) get(ctx context.Context, ref status.ObjectRef) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kinds[ref.Kind])
	err := c.of(ref.Kind).Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	return object, err
}
