// Package inventory lists what is on a cluster and tells two lists apart, to
// show that what was installed and removed again left nothing behind. It
// changes nothing.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// callTimeout is for one request.
const callTimeout = 30 * time.Second

// transient are kinds whose objects come and go by themselves.
var transient = map[string]bool{
	"events":              true,
	"endpoints":           true,
	"endpointslices":      true,
	"controllerrevisions": true,
}

// List is every object of the cluster, each as "resource.group namespace/name",
// sorted, without the kinds whose objects come and go by themselves.
func List(ctx context.Context, kubeconfig string) ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	config.Timeout, config.QPS = callTimeout, -1
	// old versions that only warn are of no interest here
	config.WarningHandler = rest.NoWarnings{}
	resources, err := listable(config)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create metadata client: %w", err)
	}
	var all []string
	var errs []error
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			errs = append(errs, fmt.Errorf("list %s: %w", resource.GroupResource(), err))
			continue
		}
		for i := range list.Items {
			all = append(all, line(resource.GroupResource(), list.Items[i].Namespace, list.Items[i].Name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), errors.Join(errs...)
}

func line(resource schema.GroupResource, namespace, name string) string {
	if namespace == "" {
		return resource.String() + " " + name
	}
	return resource.String() + " " + namespace + "/" + name
}

// listable are the resources that can be listed, each in one version.
func listable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discover the cluster's resources: %w", err)
	}
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover the cluster's resources: %w", err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && !transient[resource.Name] {
				resources = append(resources, gv.WithResource(resource.Name))
			}
		}
	}
	return resources, nil
}

// Difference describes what came and what went between two lists, or is empty.
func Difference(before, after []string) string {
	var out strings.Builder
	for _, l := range after {
		if !slices.Contains(before, l) {
			fmt.Fprintf(&out, "  left behind: %s\n", l)
		}
	}
	for _, l := range before {
		if !slices.Contains(after, l) {
			fmt.Fprintf(&out, "  taken along: %s\n", l)
		}
	}
	return out.String()
}
