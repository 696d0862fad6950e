package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/podstate"
)

const (
	// inspectTimeout limits the reads for a report.
	inspectTimeout = 15 * time.Second
	// maxPods is the number of pods of a cluster.
	maxPods = 10
	// addonLabel and addonNamespaceLabel are labels of an add-on's ManifestWorks:
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/addon/v1alpha1/types_managedclusteraddon.go
	addonLabel          = "open-cluster-management.io/addon-name"
	addonNamespaceLabel = "open-cluster-management.io/addon-namespace"
	hostingAnnotation   = "addon.open-cluster-management.io/hosting-cluster-name"
	// placements is the install strategy of a ClusterManagementAddOn for which OCM creates ManagedClusterAddOns:
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/addon/v1alpha1/types_clustermanagementaddon.go
	placements = "Placements"
)

// inspect reads why an add-on is not available on a cluster. What cannot be read becomes a note.
func (s *Sandbox) inspect(ctx context.Context, addon, cluster string) *report {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	r := &report{addon: addon, cluster: cluster}
	if err := r.readHub(ctx, s); err != nil {
		r.notes = append(r.notes, fmt.Sprintf("cannot read the hub: %v", err))
	}
	// all, since the add-on's manager runs there unless the test runs it
	if err := r.readPods(ctx, s.Hub()); err != nil {
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
	management, err := client.Resource(clusterManagementAddOn).Get(ctx, r.addon, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.unmanaged = true
	case err != nil:
		return err
	default:
		strategy, _, _ := unstructured.NestedString(management.Object, "spec", "installStrategy", "type")
		r.placed = strategy == placements
	}
	hosting := ""
	object, err := client.Resource(addOns).Namespace(r.cluster).Get(ctx, r.addon, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.notEnabled = true
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
	r.noWorks = err == nil && len(r.works) == 0
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
	return r.readPods(ctx, cluster)
}

// owns reports whether the pod is one of the add-on on the cluster.
func (r *report) owns(c *Cluster, p *corev1.Pod) bool {
	return slices.ContainsFunc(r.works, func(w work) bool {
		target, err := c.sandbox.find(w.namespace)
		return err == nil && target.programs == c.programs && w.owns(p)
	})
}

// readPods reads the add-on's pods on a cluster, or all of the hub, and the warning events about them and
// what owns them.
func (r *report) readPods(ctx context.Context, c *Cluster) error {
	client, err := corev1client.NewForConfig(c.config)
	if err != nil {
		return err
	}
	list, err := client.Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods := r.podsOf(c, list.Items)
	if more := len(pods) - maxPods; more > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d more pods of %s are left out", more, c.name))
		pods = pods[:maxPods]
	}
	namespaces := map[string]bool{}
	for _, p := range pods {
		namespaces[p.namespace] = true
		p.logs = tails(ctx, client, p.object)
		r.pods = append(r.pods, p)
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

// podsOf returns what the add-on's pods on a cluster tell, or all of the hub: those with a problem first.
func (r *report) podsOf(c *Cluster, list []corev1.Pod) []pod {
	var pods []pod
	for i := range list {
		p := podOf(c.name, &list[i])
		p.owned = r.owns(c, &list[i])
		if p.owned || c == c.sandbox.Hub() {
			pods = append(pods, p)
		}
	}
	sortPods(pods)
	return pods
}

// tails returns the ends of the logs of a pod's containers. It omits those without a log.
func tails(ctx context.Context, client corev1client.CoreV1Interface, p *corev1.Pod) []logTail {
	var all []logTail
	read := func(container string, previous bool) {
		if lines := podstate.Tail(ctx, client.Pods(p.Namespace), p.Name, container, previous); lines != "" {
			all = append(all, logTail{container: container, previous: previous, lines: lines})
		}
	}
	for _, c := range podstate.Statuses(p) {
		if c.State.Running != nil && c.RestartCount > 0 {
			read(c.Name, true) // it has the cause of the restart
		}
		read(c.Name, false)
	}
	return all
}
