package ui

import (
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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// gatherDelay is how long changes are gathered.
	gatherDelay = 200 * time.Millisecond
	// askAgain is the time between two attempts to learn whether the hub serves a resource.
	askAgain, askAgainAtMost = 5 * time.Second, time.Minute
	askTimeout               = 30 * time.Second
)

// source is a resource of which rollouts are made.
type source struct {
	resource schema.GroupVersionResource
	name     string // of the only object that is read, or empty
	informer cache.SharedIndexInformer
	// synced reports whether all of it was read.
	synced bool
}

// rollouts reads what rollouts are made of, by watches.
type rollouts struct {
	client  dynamic.Interface
	clock   clock.Clock
	sources []*source
	changed chan struct{}

	mu sync.Mutex
	// failed are the errors of the watches, by resource.
	failed map[string]string
}

func newRollouts(config *rest.Config, clock clock.Clock) (*rollouts, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create a client of %s: %w", c.Host, err)
	}
	return &rollouts{client: client, clock: clock, changed: make(chan struct{}, 1), failed: map[string]string{}, sources: []*source{
		{resource: v1alpha1.GroupVersion.WithResource("configmapreplicasets")},
		{resource: schema.GroupVersion(addonv1alpha1.GroupVersion).WithResource("clustermanagementaddons"), name: manifests.AddonName},
		{resource: schema.GroupVersion(clusterv1beta1.GroupVersion).WithResource("placementdecisions")},
	}}, nil
}

// follow calls changed with all rollouts after each change, until ctx ends.
func (r *rollouts) follow(ctx context.Context, changed func([]Rollout, []PlacementGroups, string)) {
	var group sync.WaitGroup
	defer group.Wait()
	ready := make(chan *source)
	for _, s := range r.sources {
		group.Go(func() {
			if r.isServed(ctx, s) {
				r.watch(ctx, s, ready)
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-ready: // it can be read from now on
			s.synced = true
		case <-r.changed:
			retry.Sleep(ctx, r.clock, gatherDelay)
		}
		changed(r.read())
	}
}

// isServed waits until it is known whether the hub serves the resource: a hub without ConfigMapReplicaSets is no fault.
func (r *rollouts) isServed(ctx context.Context, s *source) bool {
	for failures := 1; ctx.Err() == nil; failures++ {
		asked, cancel := context.WithTimeout(ctx, askTimeout)
		_, err := r.client.Resource(s.resource).List(asked, metav1.ListOptions{Limit: 1})
		cancel()
		if apierrors.IsNotFound(err) {
			return false
		}
		r.report(s, err)
		if err == nil {
			return true
		}
		retry.Sleep(ctx, r.clock, retry.Delay(failures, askAgain, askAgainAtMost))
	}
	return false
}

// watch keeps the resource until ctx ends, and sends it to ready once all of it was read.
func (r *rollouts) watch(ctx context.Context, s *source, ready chan<- *source) {
	s.informer = dynamicinformer.NewFilteredDynamicInformer(r.client, s.resource, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		if s.name != "" {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String()
		}
	}).Informer()
	handle := func(any) { r.report(s, nil) }
	// These fail only on an informer that has been started.
	_ = s.informer.SetTransform(func(object any) (any, error) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return object, nil
	})
	_ = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			r.report(s, err)
		}
	})
	_, _ = s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, _ any) { handle(nil) }, DeleteFunc: handle})
	var group sync.WaitGroup
	group.Go(func() { s.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
		select {
		case ready <- s:
		case <-ctx.Done():
		}
	}
	group.Wait()
}

// report records whether a resource can be read, and that something may have changed.
func (r *rollouts) report(s *source, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.failed, s.resource.Resource)
	} else {
		r.failed[s.resource.Resource] = err.Error()
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// read returns what is known of the rollouts, and what could not be read.
func (r *rollouts) read() ([]Rollout, []PlacementGroups, string) {
	var all []Rollout
	var errs []error
	for _, set := range objects[v1alpha1.ConfigMapReplicaSet](r.sources[0], &errs) {
		all = append(all, rolloutOfSet(set))
	}
	for _, addOn := range objects[addonv1alpha1.ClusterManagementAddOn](r.sources[1], &errs) {
		all = append(all, rolloutsOfAddOn(addOn)...)
	}
	groups := groupsOf(objects[clusterv1beta1.PlacementDecision](r.sources[2], &errs))
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

// objects returns the objects of a resource, in the order of their names.
func objects[T any](s *source, errs *[]error) []*T {
	if !s.synced {
		return nil
	}
	var all []*T
	found := s.informer.GetIndexer().List()
	slices.SortFunc(found, func(a, b any) int { return strings.Compare(keyOf(a), keyOf(b)) })
	for _, object := range found {
		converted := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, converted); err != nil {
			*errs = append(*errs, fmt.Errorf("decode %s %s: %w", s.resource.Resource, keyOf(object), err))
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
