package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
)

const (
	// inspectTimeout limits the reads for a report.
	inspectTimeout = 15 * time.Second
	// tailLines is the number of lines of a log in a report, maxPods the number of pods of a cluster.
	tailLines = 20
	maxPods   = 10
	// addonLabel and addonNamespaceLabel are labels of an add-on's ManifestWorks:
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/addon/v1alpha1/types_managedclusteraddon.go
	addonLabel          = "open-cluster-management.io/addon-name"
	addonNamespaceLabel = "open-cluster-management.io/addon-namespace"
	hostingAnnotation   = "addon.open-cluster-management.io/hosting-cluster-name"
)

// inspect reads why an add-on is not available on a cluster. What cannot be read becomes a note.
func (s *Sandbox) inspect(ctx context.Context, addon, cluster string) *report {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	r := &report{addon: addon, cluster: cluster}
	if err := r.readHub(ctx, s); err != nil {
		r.notes = append(r.notes, fmt.Sprintf("cannot read the hub: %v", err))
	}
	// the add-on's manager runs there, unless the test runs it
	if err := r.readPods(ctx, s.Hub(), func(*corev1.Pod) bool { return true }); err != nil {
		r.notes = append(r.notes, fmt.Sprintf("cannot read the pods on the hub: %v", err))
	}
	for _, name := range r.workClusters() {
		if err := r.readCluster(ctx, s, name); err != nil {
			r.notes = append(r.notes, fmt.Sprintf("cannot read %s: %v", name, err))
		}
	}
	return r
}

// readHub reads the add-on's objects on the hub.
func (r *report) readHub(ctx context.Context, s *Sandbox) error {
	client, err := dynamic.NewForConfig(s.Hub().config)
	if err != nil {
		return err
	}
	_, err = client.Resource(clusterManagementAddOn).Get(ctx, r.addon, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.notes = append(r.notes, fmt.Sprintf("the hub has no ClusterManagementAddOn %s: apply it, or correct the add-on's name", r.addon))
	} else if err != nil {
		return err
	}
	hosting := ""
	object, err := client.Resource(addOns).Namespace(r.cluster).Get(ctx, r.addon, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.notes = append(r.notes, fmt.Sprintf("the hub has no ManagedClusterAddOn %s/%s: call Enable", r.cluster, r.addon))
	case err != nil:
		return err
	default:
		r.addOn = conditionsOf(object.Object, "status", "conditions")
		hosting = object.GetAnnotations()[hostingAnnotation]
	}
	err = r.readWorks(ctx, client, r.cluster, addonLabel+"="+r.addon)
	if hosting != "" && hosting != r.cluster {
		err = errors.Join(err, r.readWorks(ctx, client, hosting, addonLabel+"="+r.addon+","+addonNamespaceLabel+"="+r.cluster))
	}
	if err == nil && len(r.works) == 0 {
		r.notes = append(r.notes, "the hub has no ManifestWork of the add-on: does its manager run, and does it support this cluster?")
	}
	return err
}

func (r *report) readWorks(ctx context.Context, client dynamic.Interface, namespace, selector string) error {
	list, err := client.Resource(works).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	for i := range list.Items {
		r.works = append(r.works, workOf(&list.Items[i]))
	}
	return nil
}

// workClusters returns the names of the clusters that the add-on's ManifestWorks are for.
func (r *report) workClusters() []string {
	var names []string
	for _, w := range r.works {
		names = append(names, w.namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readCluster reads the add-on's pods on a managed cluster.
func (r *report) readCluster(ctx context.Context, s *Sandbox, name string) error {
	cluster, err := s.find(name)
	if err != nil {
		return err
	}
	if cluster.programs == s.Hub().programs {
		return nil // read already
	}
	return r.readPods(ctx, cluster, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(r.works, func(w work) bool { return w.namespace == name && w.owns(p) })
	})
}

// readPods reads the pods of a cluster that are wanted, and the warning events about them and what owns them.
func (r *report) readPods(ctx context.Context, c *Cluster, want func(*corev1.Pod) bool) error {
	client, err := corev1client.NewForConfig(c.config)
	if err != nil {
		return err
	}
	pods, err := client.Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !want(&p) })
	if more := len(pods.Items) - maxPods; more > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d more pods of %s are left out", more, c.name))
		pods.Items = pods.Items[:maxPods]
	}
	namespaces := map[string]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		namespaces[p.Namespace] = true
		r.pods = append(r.pods, pod{cluster: c.name, namespace: p.Namespace, name: p.Name, problem: podProblem(p), logs: tails(ctx, client, p)})
	}
	for _, w := range r.works {
		for _, o := range w.objects {
			namespaces[o.namespace] = namespaces[o.namespace] || w.namespace == c.name && slices.Contains(workloads, o.kind)
		}
	}
	events, err := client.Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return err
	}
	for i := range events.Items {
		e := &events.Items[i]
		if namespaces[e.InvolvedObject.Namespace] || c == c.sandbox.Hub() && e.Namespace == r.cluster {
			r.events = append(r.events, eventOf(c.name, e))
		}
	}
	return nil
}

// tails returns the ends of the logs of a pod's containers. It omits those without a log.
func tails(ctx context.Context, client corev1client.CoreV1Interface, p *corev1.Pod) []logTail {
	var all []logTail
	for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
		options := &corev1.PodLogOptions{Container: c.Name, TailLines: ptr.To[int64](tailLines)}
		content, err := client.Pods(p.Namespace).GetLogs(p.Name, options).DoRaw(ctx)
		if err == nil && len(strings.TrimSpace(string(content))) > 0 {
			all = append(all, logTail{container: c.Name, lines: string(content)})
		}
	}
	return all
}
