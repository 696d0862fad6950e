package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// AvailableTimeout is the time that WaitAvailable waits.
const AvailableTimeout = 2 * time.Minute

var (
	addOns                 = ocmResource("addon", "v1alpha1", "managedclusteraddons")
	clusterManagementAddOn = ocmResource("addon", "v1alpha1", "clustermanagementaddons")
	works                  = ocmResource("work", "v1", "manifestworks")
	managedClusters        = ocmResource("cluster", "v1", "managedclusters")
)

func ocmResource(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group + ".open-cluster-management.io", Version: version, Resource: resource}
}

// Enable enables an add-on on managed clusters, by default on all: it applies a ManagedClusterAddOn without
// a specification in the namespace of each on the first hub. To set more in it, for example an annotation,
// use Apply.
func (s *Sandbox) Enable(t testing.TB, addon string, clusters ...string) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, cluster := range s.namesOr(t, clusters) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		object.SetAPIVersion(addOns.GroupVersion().String())
		object.SetKind("ManagedClusterAddOn")
		object.SetNamespace(cluster)
		object.SetName(addon)
		objects = append(objects, object)
	}
	s.Hub().applyAll(t, objects)
}

// WaitAvailable waits until an add-on is available on managed clusters, by default on all: until the
// condition Available of its ManagedClusterAddOn on the first hub is True. After AvailableTimeout, or
// shortly before the deadline of go test, it fails the test. Its message has what explains the failure: the
// conditions of the ManagedClusterAddOn and of the add-on's ManifestWorks, the add-on's pods with the reason
// why they are not ready and the last lines of their logs, the same of the pods on the hub, and warning
// events.
func (s *Sandbox) WaitAvailable(t testing.TB, addon string, clusters ...string) {
	t.Helper()
	names := s.namesOr(t, clusters)
	ctx, cancel := waitContext(t, AvailableTimeout)
	defer cancel()
	for _, cluster := range names {
		if err := s.waitAvailable(ctx, addon, cluster); err != nil {
			t.Fatal(err)
		}
	}
}

// namesOr returns the names after it has checked them, or those of all managed clusters.
func (s *Sandbox) namesOr(t testing.TB, names []string) []string {
	t.Helper()
	if len(names) > 0 {
		for _, name := range names {
			s.Cluster(t, name)
		}
		return names
	}
	for _, cluster := range s.clusters {
		names = append(names, cluster.name)
	}
	return names
}

// waitAvailable waits until the add-on is available on the cluster. The error, after ctx has ended, is the
// report.
func (s *Sandbox) waitAvailable(ctx context.Context, addon, cluster string) error {
	client, err := dynamic.NewForConfig(s.Hub().config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	err = poll(ctx, func(ctx context.Context) error {
		object, err := client.Resource(addOns).Namespace(cluster).Get(ctx, addon, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return available(object)
	})
	if err == nil {
		return nil
	}
	r := s.inspect(context.WithoutCancel(ctx), addon, cluster)
	return fmt.Errorf("the add-on %s is not available on %s %w\n%s", addon, cluster, err, strings.TrimSuffix(r.String(), "\n"))
}

// available returns an error unless the condition Available of an object is True.
func available(object *unstructured.Unstructured) error {
	for _, c := range conditionsOf(object.Object, "status", "conditions") {
		if c.Type == "Available" {
			if c.Status == metav1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("%s", c)
		}
	}
	return errors.New("it has no condition Available yet")
}
