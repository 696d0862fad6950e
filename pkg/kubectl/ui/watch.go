package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// gatherDelay is how long changes are gathered.
	gatherDelay = 200 * time.Millisecond
	// listTimeout is how long a page of a list may take, unless --request-timeout is set.
	listTimeout = 30 * time.Second
)

// source is a resource of which rollouts are made.
type source struct {
	// resources are the resource in the versions of its API, the preferred one first.
	resources []dynamic.ResourceInterface
	resource  string
	name      string // of the only object that is read, or empty
	informer  cache.SharedIndexInformer
}

// rollouts reads what rollouts are made of, by watches.
type rollouts struct {
	clock   clock.Clock
	timeout time.Duration
	// The sources.
	sets, addOns, decisions *source
	changed                 retry.Signal

	mu sync.Mutex
	// failed are the errors of the lists and watches, by resource.
	failed map[string]string
}

func newRollouts(config *rest.Config, clock clock.Clock) (*rollouts, error) {
	c := rest.CopyConfig(config)
	// A list has its own timeout, and the API server ends a watch: client-go's would cut it off.
	c.Timeout, c.QPS, c.WarningHandler = 0, -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create a client of %s: %w", c.Host, err)
	}
	r := &rollouts{clock: clock, timeout: cmp.Or(config.Timeout, listTimeout), changed: retry.NewSignal(), failed: map[string]string{}}
	r.sets = r.source(client, "configmapreplicasets", "", v1alpha1.GroupVersion)
	// The versions are those that status reads. OCM stores v1alpha1.
	r.addOns = r.source(client, "clustermanagementaddons", manifests.AddonName, schema.GroupVersion(addonv1alpha1.GroupVersion), schema.GroupVersion(addonv1beta1.GroupVersion))
	r.decisions = r.source(client, "placementdecisions", "", schema.GroupVersion(clusterv1beta1.GroupVersion))
	return r, nil
}

// source returns a source, whose informer is not started yet.
func (r *rollouts) source(client dynamic.Interface, resource, name string, versions ...schema.GroupVersion) *source {
	s := &source{resource: resource, name: name}
	for _, version := range versions {
		s.resources = append(s.resources, client.Resource(version.WithResource(resource)))
	}
	only := func(o *metav1.ListOptions) {
		if name != "" {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	s.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, r.timeout)
			defer cancel()
			only(&o)
			list, err := served(s, func(of dynamic.ResourceInterface) (*unstructured.UnstructuredList, error) { return of.List(ctx, o) })
			if err != nil { // whether all is well is known when the watch that follows has begun
				r.report(s, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			only(&o)
			begun, err := served(s, func(of dynamic.ResourceInterface) (watch.Interface, error) { return of.Watch(ctx, o) })
			if err == nil || o.SendInitialEvents == nil { // else a list follows
				r.report(s, err)
			}
			return begun, err
		},
	}, client), &unstructured.Unstructured{}, 0, cache.Indexers{})
	// These fail only on an informer that has been started.
	_ = s.informer.SetTransform(func(object any) (any, error) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return object, nil
	})
	_ = s.informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}) // it was reported
	notify := func(any) { r.changed.Notify() }
	_, _ = s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, _ any) { notify(nil) }, DeleteFunc: notify})
	return s
}

// served asks for a source in the first version that the hub serves. The informer asks again, at most twice a minute, for a resource
// that is not served: its CRD may be installed later.
func served[T any](s *source, ask func(dynamic.ResourceInterface) (T, error)) (answer T, err error) {
	for _, resource := range s.resources {
		if answer, err = ask(resource); !apierrors.IsNotFound(err) {
			break
		}
	}
	return answer, err
}

// follow calls changed with all rollouts after each change, until ctx ends.
func (r *rollouts) follow(ctx context.Context, changed func([]Rollout, []PlacementGroups, string)) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, s := range []*source{r.sets, r.addOns, r.decisions} {
		group.Go(func() { s.informer.RunWithContext(ctx) })
		group.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
				r.changed.Notify()
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
			retry.Sleep(ctx, r.clock, gatherDelay)
			changed(r.read())
		}
	}
}

// report records whether a resource can be read, and that something may have changed. A hub without ConfigMapReplicaSets is no fault.
func (r *rollouts) report(s *source, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // a list follows
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || apierrors.IsNotFound(err) {
		delete(r.failed, s.resource)
	} else {
		r.failed[s.resource] = err.Error()
	}
	r.changed.Notify()
}

// read returns what is known of the rollouts, and what could not be read. The groups are those of the Placements of the rollouts: a
// hub may have many others.
func (r *rollouts) read() ([]Rollout, []PlacementGroups, string) {
	var all []Rollout
	var errs []error
	placements := map[string]bool{}
	everything := func(*unstructured.Unstructured) bool { return true }
	for _, set := range objects[v1alpha1.ConfigMapReplicaSet](r.sets, everything, &errs) {
		all = append(all, rolloutOfSet(set))
		for _, p := range set.Spec.PlacementRefs {
			placements[set.Namespace+"/"+p.Name] = true
		}
	}
	for _, addOn := range objects[addonv1alpha1.ClusterManagementAddOn](r.addOns, everything, &errs) {
		for _, rollout := range rolloutsOfAddOn(addOn) {
			all = append(all, rollout)
			placements[rollout.Name] = true
		}
	}
	groups := groupsOf(objects[clusterv1beta1.PlacementDecision](r.decisions, func(u *unstructured.Unstructured) bool {
		return placements[u.GetNamespace()+"/"+u.GetLabels()[clusterv1beta1.PlacementLabel]]
	}, &errs))
	r.mu.Lock()
	defer r.mu.Unlock()
	for resource, text := range r.failed {
		errs = append(errs, errors.New("cannot read "+resource+": "+text))
	}
	return sorted(all), groups, textOf(errs)
}

func textOf(errs []error) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// objects returns the objects of a resource that are wanted, in the order of their names, once all were read.
func objects[T any](s *source, wanted func(*unstructured.Unstructured) bool, errs *[]error) []*T {
	if !s.informer.HasSynced() {
		return nil
	}
	var all []*T
	found := s.informer.GetIndexer().List()
	slices.SortFunc(found, func(a, b any) int { return strings.Compare(keyOf(a), keyOf(b)) })
	for _, object := range found {
		u := object.(*unstructured.Unstructured)
		if !wanted(u) {
			continue
		}
		converted := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, converted); err != nil {
			*errs = append(*errs, fmt.Errorf("decode %s %s: %w", s.resource, keyOf(object), err))
			continue
		}
		all = append(all, converted)
	}
	return all
}

func keyOf(object any) string {
	u := object.(*unstructured.Unstructured)
	return u.GetNamespace() + "/" + u.GetName()
}
