// Package apply writes manifests to a cluster by server-side apply.
//
// It renders nothing and deletes nothing.
package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is the sandbox's field manager.
const fieldManager = "ocm-sandbox"

// kindTimeout limits the wait for the kind of a new CRD.
const kindTimeout = 30 * time.Second

// Applier applies manifests to one cluster.
type Applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// New returns an applier for the cluster.
func New(config *rest.Config) (*Applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a dynamic client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a discovery client: %w", err)
	}
	return &Applier{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer)),
	}, nil
}

// Apply applies every object of the YAML documents, in their order.
func (a *Applier) Apply(ctx context.Context, documents []byte) error {
	objects, err := Decode(documents)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if _, err := a.ApplyObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// ApplyObject applies the object and returns its generation. An object of a namespaced kind without a
// namespace goes to the namespace default.
func (a *Applier) ApplyObject(ctx context.Context, object *unstructured.Unstructured) (generation int64, err error) {
	return a.apply(ctx, object, dynamic.ResourceInterface.Apply)
}

// ApplyStatus applies the object's status.
func (a *Applier) ApplyStatus(ctx context.Context, object *unstructured.Unstructured) error {
	_, err := a.apply(ctx, object, func(client dynamic.ResourceInterface, ctx context.Context, name string, object *unstructured.Unstructured,
		options metav1.ApplyOptions, _ ...string) (*unstructured.Unstructured, error) {
		return client.ApplyStatus(ctx, name, object, options)
	})
	return err
}

// applyFunc is a method of dynamic.ResourceInterface.
type applyFunc func(dynamic.ResourceInterface, context.Context, string, *unstructured.Unstructured, metav1.ApplyOptions, ...string) (*unstructured.Unstructured, error)

func (a *Applier) apply(ctx context.Context, object *unstructured.Unstructured, do applyFunc) (int64, error) {
	mapping, err := a.mapping(ctx, object)
	if err != nil {
		return 0, fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	var client dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		// as with kubectl
		client = a.client.Resource(mapping.Resource).Namespace(cmp.Or(object.GetNamespace(), metav1.NamespaceDefault))
	}
	applied, err := do(client, ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return 0, fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return applied.GetGeneration(), nil
}

// mapping returns the resource of an object. It waits for the kind of a new CRD.
func (a *Applier) mapping(ctx context.Context, object *unstructured.Unstructured) (*meta.RESTMapping, error) {
	gvk := object.GroupVersionKind()
	started := time.Now()
	var mapping *meta.RESTMapping
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, kindTimeout, true, func(context.Context) (bool, error) {
		mapping, last = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if last != nil {
			a.mapper.Reset()
		}
		return last == nil, nil
	})
	if err != nil {
		return nil, explain(ctx.Err(), last, time.Since(started))
	}
	return mapping, nil
}

// explain adds to the last error of a search for a kind what to do. ended is the error of the caller's context, if it has
// ended the search, and waited is the time that the search took.
func explain(ended, last error, waited time.Duration) error {
	waited = waited.Round(time.Second)
	if ended != nil {
		last = fmt.Errorf("%w: %w", ended, last)
	}
	if meta.IsNoMatchError(last) && !errors.Is(ended, context.Canceled) {
		return fmt.Errorf("the cluster has no such kind, not even after %s: apply its CRD first, or correct apiVersion and kind: %w", waited, last)
	}
	return fmt.Errorf("cannot look up the kind, tried for %s: %w", waited, last)
}

// Decode parses YAML documents and omits empty ones.
func Decode(documents []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode a manifest: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
