package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// The resources of the scenario. v1alpha1 of the add-on API needs no conversion webhook.
var (
	managedClusters = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	addOns          = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons"}
	configurations  = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}
	manifestWorks   = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

const (
	addOn = "helloworld"
	// configuration is the AddOnDeploymentConfig that changes the agent's Deployment, and
	// configNamespace its namespace.
	configuration   = "calibrate"
	configNamespace = "open-cluster-management"
	changed         = "--v=1"
)

// Times of the scenario. A phase includes the time after its last effect, in which OCM's
// agents report.
const (
	settle      = 20 * time.Second
	changes     = 10
	changeEach  = 2 * time.Second
	poll        = 500 * time.Millisecond
	stepTimeout = 3 * time.Minute
	// DefaultIdle has about two renewals of the lease of each cluster, whose period is 60 to
	// 75 s.
	DefaultIdle = 150 * time.Second
)

// Scenario is what all clusters go through, from joined to detached.
type Scenario struct {
	// Hub is an administrator's client.
	Hub      dynamic.Interface
	Clusters Clusters
	Idle     time.Duration
	// Out gets the progress.
	Out io.Writer

	phases []Phase
}

func (s *Scenario) all() []string { return slices.Concat(s.Clusters.Real, s.Clusters.Simulated) }

// Run runs the scenario and returns its phases. The first one, join, is all that was before.
func (s *Scenario) Run(ctx context.Context) ([]Phase, error) {
	s.phases = []Phase{{Name: "join", To: time.Now()}}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"enable", s.enable},
		{Idle, func(ctx context.Context) error { return pause(ctx, s.Idle) }},
		{"10 changes", s.change},
		{"configure", s.configure},
		{"disable", s.disable},
		{"detach", s.detach},
	} {
		from := time.Now()
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		s.phases = append(s.phases, Phase{step.name, from, time.Now()})
		fmt.Fprintf(s.Out, "%-10s %5.1f s\n", step.name, time.Since(from).Seconds())
	}
	return s.phases, nil
}

func (s *Scenario) enable(ctx context.Context) error {
	for _, cluster := range s.all() {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
			"metadata": map[string]any{"name": addOn}, "spec": map[string]any{"installNamespace": "default"}}}
		if _, err := s.Hub.Resource(addOns).Namespace(cluster).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create ManagedClusterAddOn of %s: %w", cluster, err)
		}
	}
	if err := s.await(ctx, s.available); err != nil {
		return err
	}
	return pause(ctx, settle)
}

// available returns nil when the add-on is available on the cluster and reports.
func (s *Scenario) available(ctx context.Context, cluster string) error {
	object, err := s.Hub.Resource(addOns).Namespace(cluster).Get(ctx, addOn, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range []string{"Available", "ConfigMapsSynced"} {
		if !isTrue(object, condition) {
			return fmt.Errorf("ManagedClusterAddOn of %s: the condition %s is not True", cluster, condition)
		}
	}
	return nil
}

func isTrue(object *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == condition {
			return fields["status"] == "True"
		}
	}
	return false
}

// change writes one ConfigMap in every cluster's namespace several times.
func (s *Scenario) change(ctx context.Context) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "calibrate"}}}
	for i := range changes {
		object.Object["data"] = map[string]any{"change": fmt.Sprint(i)}
		for _, cluster := range s.all() {
			write := func() error {
				_, err := s.Hub.Resource(configMaps).Namespace(cluster).Update(ctx, object, metav1.UpdateOptions{})
				return err
			}
			if i == 0 {
				write = func() error {
					_, err := s.Hub.Resource(configMaps).Namespace(cluster).Create(ctx, object, metav1.CreateOptions{})
					return err
				}
			}
			if err := write(); err != nil {
				return fmt.Errorf("write the ConfigMap of %s: %w", cluster, err)
			}
		}
		if err := pause(ctx, changeEach); err != nil {
			return err
		}
	}
	return pause(ctx, settle)
}

// configure gives the add-on on every cluster a configuration, which changes the agent's
// Deployment.
func (s *Scenario) configure(ctx context.Context) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
		"metadata": map[string]any{"name": configuration},
		"spec":     map[string]any{"customizedVariables": []any{map[string]any{"name": "LogVerbosity", "value": "1"}}}}}
	if _, err := s.Hub.Resource(configurations).Namespace(configNamespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the configuration: %w", err)
	}
	patch := fmt.Sprintf(`{"spec":{"configs":[{"group":%q,"resource":%q,"namespace":%q,"name":%q}]}}`,
		configurations.Group, configurations.Resource, configNamespace, configuration)
	for _, cluster := range s.all() {
		if _, err := s.Hub.Resource(addOns).Namespace(cluster).Patch(ctx, addOn, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("configure the add-on of %s: %w", cluster, err)
		}
	}
	if err := s.await(ctx, s.configured); err != nil {
		return err
	}
	return pause(ctx, settle)
}

// configured returns nil when the cluster runs the Deployment with the configuration.
func (s *Scenario) configured(ctx context.Context, cluster string) error {
	works, err := s.Hub.Resource(manifestWorks).Namespace(cluster).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range works.Items {
		content, err := works.Items[i].MarshalJSON()
		if err != nil {
			return err
		}
		if strings.Contains(string(content), `"`+changed+`"`) && isTrue(&works.Items[i], "Available") {
			return s.available(ctx, cluster)
		}
	}
	return fmt.Errorf("no ManifestWork of %s has %s and is available", cluster, changed)
}

func (s *Scenario) disable(ctx context.Context) error {
	for _, cluster := range s.all() {
		if err := s.Hub.Resource(addOns).Namespace(cluster).Delete(ctx, addOn, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete ManagedClusterAddOn of %s: %w", cluster, err)
		}
	}
	if err := s.await(ctx, func(ctx context.Context, cluster string) error {
		return gone(s.Hub.Resource(addOns).Namespace(cluster).Get(ctx, addOn, metav1.GetOptions{}))
	}); err != nil {
		return err
	}
	return pause(ctx, settle)
}

func (s *Scenario) detach(ctx context.Context) error {
	for _, cluster := range s.all() {
		if err := s.Hub.Resource(managedClusters).Delete(ctx, cluster, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete ManagedCluster %s: %w", cluster, err)
		}
	}
	return s.await(ctx, func(ctx context.Context, cluster string) error {
		return gone(s.Hub.Resource(managedClusters).Get(ctx, cluster, metav1.GetOptions{}))
	})
}

// errPresent is the reason to wait for the end of an object.
var errPresent = errors.New("it is still there")

// gone returns nil if the object does not exist.
func gone(object *unstructured.Unstructured, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), errPresent)
	}
}

// await waits until the condition holds for every cluster.
func (s *Scenario) await(ctx context.Context, holds func(context.Context, string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("not within %s", stepTimeout))
	defer cancel()
	for _, cluster := range s.all() {
		for {
			err := holds(ctx, cluster)
			if err == nil {
				break
			}
			if pause(ctx, poll) != nil {
				return fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
