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
	// inspectTimeout limits the reads for a report, and those for all reports of a summary.
	inspectTimeout = 5 * time.Second
	// addonLabel and addonNamespaceLabel are labels of an add-on's ManifestWorks:
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/addon/v1alpha1/types_managedclusteraddon.go
	addonLabel          = "open-cluster-management.io/addon-name"
	addonNamespaceLabel = "open-cluster-management.io/addon-namespace"
	hostingAnnotation   = "addon.open-cluster-management.io/hosting-cluster-name"
	// placements is the install strategy of a ClusterManagementAddOn for which OCM creates ManagedClusterAddOns:
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/addon/v1alpha1/types_clustermanagementaddon.go
	placements = "Placements"
)

// inspect reads why an add-on is not available on a cluster: what look reads, logs and warning events.
func (s *Sandbox) inspect(ctx context.Context, addon, cluster string) *report {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	r := s.look(ctx, addon, cluster)
	for _, c := range r.clusters(s) {
		r.note("the logs and events", c, r.readDetails(ctx, c))
	}
	return r
}

// look reads the add-on's objects on the hub, and the pods. What cannot be read becomes a note.
func (s *Sandbox) look(ctx context.Context, addon, cluster string) *report {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	r := &report{addon: addon, cluster: cluster}
	r.note("the add-on's objects", s.Hub(), r.readHub(ctx, s))
	for _, c := range r.clusters(s) {
		r.note("the pods", c, r.readPods(ctx, c))
	}
	sortPods(r.pods)
	return r
}

// note adds a note about what cannot be read.
func (r *report) note(what string, c *Cluster, err error) {
	if err != nil {
		r.notes = append(r.notes, fmt.Sprintf("cannot read %s on %s: %v", what, c.name, err))
	}
}

// clusters returns the hub, where the add-on's manager runs unless the test runs it, and the clusters that
// the add-on's ManifestWorks are for.
func (r *report) clusters(s *Sandbox) []*Cluster {
	all := []*Cluster{s.Hub()}
	for _, w := range r.works {
		c, err := s.find(w.namespace)
		if err == nil && !slices.ContainsFunc(all, func(other *Cluster) bool { return other.programs == c.programs }) {
			all = append(all, c)
		}
	}
	return all
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

// owns reports whether the pod is one of the add-on on the cluster.
func (r *report) owns(c *Cluster, p *corev1.Pod) bool {
	return slices.ContainsFunc(r.works, func(w work) bool {
		target, err := c.sandbox.find(w.namespace)
		return err == nil && target.programs == c.programs && w.owns(p)
	})
}

// readPods reads the pods of a cluster.
func (r *report) readPods(ctx context.Context, c *Cluster) error {
	client, err := corev1client.NewForConfig(c.config)
	if err != nil {
		return err
	}
	list, err := client.Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	r.pods = append(r.pods, r.podsOf(c, list.Items)...)
	return nil
}

// readDetails reads the logs of the pods that the report shows, and warning events about the pods and what
// owns them.
func (r *report) readDetails(ctx context.Context, c *Cluster) error {
	client, err := corev1client.NewForConfig(c.config)
	if err != nil {
		return err
	}
	namespaces := map[string]bool{}
	for i, p := range r.pods {
		if p.cluster != c.name {
			continue
		}
		namespaces[p.namespace] = true
		if i < maxPods {
			r.pods[i].logs = tails(ctx, client, p.object)
		}
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

// podsOf returns the add-on's pods on a managed cluster, or all pods of the hub.
func (r *report) podsOf(c *Cluster, list []corev1.Pod) []pod {
	var pods []pod
	for i := range list {
		p := podOf(c.name, &list[i])
		p.owned = r.owns(c, &list[i])
		if p.owned || c == c.sandbox.Hub() {
			pods = append(pods, p)
		}
	}
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
