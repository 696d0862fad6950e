package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// AvailableTimeout is the time that WaitAvailable waits.
const AvailableTimeout = 2 * time.Minute

const (
	// hopelessAfter is the time after which WaitAvailable stops if waiting is hopeless: until then another
	// goroutine of the test may apply what is missing. hopelessPeriod is the period of checking that.
	hopelessAfter  = 15 * time.Second
	hopelessPeriod = 5 * time.Second
)

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
// shortly before the deadline of go test, it fails the test. After 20 s it also fails when waiting cannot help:
//   - all pods of the add-on wait for images that the sandbox does not know, or have ended four times;
//   - it has no pod, the hub has no ClusterManagementAddOn or no ManagedClusterAddOn of it, and no pod on the
//     hub is starting;
//   - it has no pod, and all pods on the hub wait for unknown images or have ended four times.
//
// Its message has what explains the failure: the pods that are not ready or have restarted, with the reason
// and the last lines of their logs; the conditions of the ManagedClusterAddOn and of the add-on's
// ManifestWorks; the other pods of the add-on and of the hub, with fewer lines; and warning events.
func (s *Sandbox) WaitAvailable(t testing.TB, addon string, clusters ...string) {
	t.Helper()
	names := s.namesOr(t, clusters)
	ctx, cancel := waitContext(t, AvailableTimeout)
	defer cancel()
	grace := time.Now().Add(hopelessAfter)
	for _, cluster := range names {
		if err := s.waitAvailable(ctx, grace, addon, cluster); err != nil {
			s.alreadyShown.add(t.Name(), addon)
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

// waitAvailable waits until the add-on is available on the cluster. The error, after ctx has ended or if
// waiting is hopeless after grace, has the text of the report.
func (s *Sandbox) waitAvailable(ctx context.Context, grace time.Time, addon, cluster string) error {
	client, err := dynamic.NewForConfig(s.Hub().config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	check := func(ctx context.Context) error {
		object, err := client.Resource(addOns).Namespace(cluster).Get(ctx, addon, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return available(object)
	}
	hopeless := func(ctx context.Context) bool { return s.look(ctx, addon, cluster).hopeless() }
	if err := await(ctx, grace, check, hopeless); err != nil {
		r := s.inspect(context.WithoutCancel(ctx), addon, cluster)
		state := "is not"
		if r.hopeless() {
			state = "cannot become"
		}
		return fmt.Errorf("the add-on %s %s available on %s %w\n%s", addon, state, cluster, err, r)
	}
	return nil
}

// await calls check until it returns nil, ctx ends, or hopeless reports after grace that waiting cannot help.
func await(ctx context.Context, grace time.Time, check func(context.Context) error, hopeless func(context.Context) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	before := false
	return poll(ctx, func(ctx context.Context) error {
		err := check(ctx)
		if err != nil && ctx.Err() == nil && !time.Now().Before(grace) {
			grace = time.Now().Add(hopelessPeriod)
			// twice, because what has just become ready needs a moment
			now := hopeless(ctx)
			if now && before {
				stop()
			}
			before = now
		}
		return err
	})
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
