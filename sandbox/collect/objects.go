package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	// requestTimeout limits a request to a cluster, whose API server may be stopped.
	requestTimeout = 10 * time.Second
	// clusterTimeout limits all requests to a cluster.
	clusterTimeout = time.Minute
	// pageSize is the number of objects in one answer.
	pageSize = 500
)

// clusterWide is the directory of the objects without a namespace. No namespace can have this name.
const clusterWide = "_cluster"

// cluster writes the objects and events of a cluster, and its version to about. What it cannot read is in the
// error.
func (c *collector) cluster(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.Dir, name+".kubeconfig"))
	if err != nil {
		return fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	config.Timeout, config.QPS = requestTimeout, -1
	config.WarningHandler = rest.NoWarnings{} // about deprecated kinds
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client of %s: %w", name, err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		// with a stopped API server, each of the hundred kinds would have to time out
		return fmt.Errorf("objects and events of %s: %w", name, err)
	}
	c.about("%s: Kubernetes %s", name, version.GitVersion)
	problems := []error{c.events(ctx, client, name)}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a dynamic client of %s: %w", name, err)
	}
	// it returns what it found beside the error, for example of an APIService without endpoints
	lists, err := client.Discovery().ServerPreferredResources()
	problems = append(problems, wrap(err, "all kinds of %s", name))
	for _, kind := range listable(lists) {
		found, err := list(ctx, objects.Resource(kind))
		problems = append(problems, wrap(err, "%s of %s", kind.GroupResource(), name), c.write(name, kind, found))
	}
	return errors.Join(problems...)
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// listable returns the kinds whose objects can be listed. It omits events, which have their own file.
func listable(lists []*metav1.APIResourceList) []schema.GroupVersionResource {
	var kinds []schema.GroupVersionResource
	for _, resources := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		version, err := schema.ParseGroupVersion(resources.GroupVersion)
		if err != nil {
			continue // the API server has parsed it before
		}
		for _, resource := range resources.APIResources {
			if resource.Name != "events" && resource.Name != "componentstatuses" {
				kinds = append(kinds, version.WithResource(resource.Name))
			}
		}
	}
	return kinds
}

// list returns all objects of a kind, page by page.
func list(ctx context.Context, client dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// write writes the objects of a kind to a file for each namespace.
func (c *collector) write(cluster string, kind schema.GroupVersionResource, objects []unstructured.Unstructured) error {
	files := map[string]*bytes.Buffer{}
	for _, object := range objects {
		redact(object.Object)
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encode %s %s of %s: %w", kind.Resource, object.GetName(), cluster, err)
		}
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = clusterWide
		}
		if files[namespace] == nil {
			files[namespace] = &bytes.Buffer{}
		}
		_, _ = fmt.Fprintf(files[namespace], "---\n%s", content)
	}
	for _, namespace := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join("objects", cluster, namespace, kind.GroupResource().String()+".yaml")
		if err := c.file(file, files[namespace].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// events writes the events of a cluster.
func (c *collector) events(ctx context.Context, client kubernetes.Interface, cluster string) error {
	var all []corev1.Event
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.CoreV1().Events("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("events of %s: %w", cluster, err)
		}
		all = append(all, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return c.file(filepath.Join("events", cluster+".txt"), []byte(eventTable(all)))
		}
	}
}
