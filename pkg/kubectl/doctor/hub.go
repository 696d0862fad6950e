package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/stored"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
)

// nameLabel is Kubernetes' recommended label with the name of a program.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
const nameLabel = "app.kubernetes.io/name"

// hub reads a hub.
type hub struct {
	host string
	// flags are those with which kubectl reaches the hub, each after a space.
	flags    string
	kube     kubernetes.Interface
	addOns   addonclient.Interface
	clusters clusterclient.Interface
	works    workclient.Interface
	dynamic  dynamic.Interface
}

func newHub(config *rest.Config) (*hub, error) {
	c := limited(config)
	h := &hub{host: c.Host}
	errs := make([]error, 5)
	h.kube, errs[0] = kubernetes.NewForConfig(c)
	h.addOns, errs[1] = addonclient.NewForConfig(c)
	h.clusters, errs[2] = clusterclient.NewForConfig(c)
	h.works, errs[3] = workclient.NewForConfig(c)
	h.dynamic, errs[4] = dynamic.NewForConfig(c)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("create the clients of %s: %w", c.Host, err)
	}
	return h, nil
}

// reading collects what several goroutines read, and what they may not.
type reading struct {
	mu      sync.Mutex
	notRead []diagnosis.NotRead
	group   sync.WaitGroup
}

// read runs get beside the others. An error is recorded, but not that an object does not exist.
func (r *reading) read(resource diagnosis.Resource, get func() error) {
	r.group.Go(func() {
		if err := get(); err != nil && !apierrors.IsNotFound(err) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notRead = append(r.notRead, diagnosis.NotRead{Resource: resource, Error: err.Error()})
		}
	})
}

// done waits for all, and returns what could not be read, sorted.
func (r *reading) done() []diagnosis.NotRead {
	r.group.Wait()
	slices.SortStableFunc(r.notRead, func(a, b diagnosis.NotRead) int { return cmp.Compare(a.Resource, b.Resource) })
	return slices.CompactFunc(r.notRead, func(a, b diagnosis.NotRead) bool { return a.Resource == b.Resource })
}

// objects are what was read of the clusters.
type objects struct {
	clusters map[string]*clusterv1.ManagedCluster
	addOns   map[string]*addonv1beta1.ManagedClusterAddOn
	works    map[string][]*workv1.ManifestWork
	requests map[string][]*certificatesv1.CertificateSigningRequest
	bindings map[string]*rbacv1.RoleBinding
	mirrors  map[string]*v1alpha1.ConfigMapMirror
	events   map[string][]corev1.Event
	// mirrorsServed reports whether the hub has the CRD of ConfigMapMirrors.
	mirrorsServed bool
}

// gather returns the facts of these clusters, or of all that have the add-on. Without one, it returns the hub's alone.
func (h *hub) gather(ctx context.Context, names []string, now time.Time) ([]diagnosis.Facts, error) {
	r := &reading{}
	facts := h.gatherHub(ctx, r)
	all := &objects{works: map[string][]*workv1.ManifestWork{}, requests: map[string][]*certificatesv1.CertificateSigningRequest{}, events: map[string][]corev1.Event{}}
	namespace := metav1.NamespaceAll
	if len(names) == 1 {
		namespace = names[0]
	}
	err := h.gatherClusters(ctx, r, all, namespace, names)
	notRead := r.done()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(notRead, func(n diagnosis.NotRead) bool { return n.Resource == diagnosis.AddOns }); i >= 0 {
		return nil, fmt.Errorf("list ManagedClusterAddOns of %s: %s", h.host, notRead[i].Error)
	}
	facts.MirrorsServed = all.mirrorsServed
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(all.addOns))
	}
	if len(names) == 0 {
		return []diagnosis.Facts{{Now: now, Flags: h.flags, Hub: *facts, NotRead: notRead}}, nil
	}
	var result []diagnosis.Facts
	for _, name := range names {
		f := diagnosis.Facts{Now: now, Cluster: name, Flags: h.flags, Hub: *facts, ManagedCluster: all.clusters[name], AddOn: all.addOns[name],
			Works: all.works[name], Requests: all.requests[name], Binding: all.bindings[name], Mirror: all.mirrors[name], Events: all.events[name], NotRead: notRead}
		if f.AddOn != nil {
			f.Hosting = all.clusters[f.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey]]
		}
		result = append(result, f)
	}
	return result, nil
}

// each calls use with every object of a list, page by page.
func each[T runtime.Object](ctx context.Context, options metav1.ListOptions, list func(context.Context, metav1.ListOptions) (runtime.Object, error), use func(T)) error {
	return pager.New(list).EachListItem(ctx, options, func(object runtime.Object) error {
		use(object.(T))
		return nil
	})
}

// gatherClusters reads what belongs to clusters.
func (h *hub) gatherClusters(ctx context.Context, r *reading, all *objects, namespace string, names []string) error {
	// An API that the hub does not serve makes it no hub: nothing else is worth an answer then.
	all.clusters = map[string]*clusterv1.ManagedCluster{}
	selected := metav1.ListOptions{}
	if namespace != metav1.NamespaceAll {
		selected.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()
	}
	err := each(ctx, selected, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return h.clusters.ClusterV1().ManagedClusters().List(ctx, o)
	}, func(c *clusterv1.ManagedCluster) { all.clusters[c.Name] = c })
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s is not a hub of Open Cluster Management: it serves no ManagedClusters; name the hub by --context or --kubeconfig, "+
			"or install OCM there (clusteradm init)", h.host)
	case apierrors.IsForbidden(err):
		r.read(diagnosis.ManagedClusters, func() error { return err })
	case err != nil:
		return fmt.Errorf("list ManagedClusters of %s: %w", h.host, err)
	}
	byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, manifests.AddonName).String()}
	r.read(diagnosis.AddOns, func() error { return h.gatherAddOns(ctx, r, all, namespace, byName) })
	r.read(diagnosis.Works, func() error { return h.gatherWorks(ctx, all, namespace, names) })
	r.read(diagnosis.Requests, func() error {
		return each(ctx, ofAddOn(clusterv1.ClusterNameLabelKey, namespace), func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.kube.CertificatesV1().CertificateSigningRequests().List(ctx, o)
		}, func(c *certificatesv1.CertificateSigningRequest) {
			name := c.Labels[clusterv1.ClusterNameLabelKey]
			all.requests[name] = append(all.requests[name], c)
		})
	})
	h.gatherNamespaces(ctx, r, all, namespace, byName)
	return nil
}

// ofAddOn selects the objects with OCM's label of this add-on, and of one cluster by another label unless it is empty.
func ofAddOn(label, cluster string) metav1.ListOptions {
	selector := labels.Set{addonv1beta1.AddonLabelKey: manifests.AddonName}
	if cluster != "" {
		selector[label] = cluster
	}
	return metav1.ListOptions{LabelSelector: selector.String()}
}

// gatherAddOns reads the ManagedClusterAddOns. For one cluster it also reads the ManagedCluster that hosts the agent.
func (h *hub) gatherAddOns(ctx context.Context, r *reading, all *objects, namespace string, byName metav1.ListOptions) error {
	all.addOns = map[string]*addonv1beta1.ManagedClusterAddOn{}
	err := each(ctx, byName, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return h.addOns.AddonV1alpha1().ManagedClusterAddOns(namespace).List(ctx, o)
	}, func(a *addonv1alpha1.ManagedClusterAddOn) {
		converted := &addonv1beta1.ManagedClusterAddOn{}
		if stored.Convert(a, converted) == nil {
			all.addOns[a.Namespace] = converted
		}
	})
	if addOn := all.addOns[namespace]; addOn != nil {
		if hosting := addOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey]; hosting != "" {
			r.read(diagnosis.ManagedClusters, func() error {
				cluster, err := h.clusters.ClusterV1().ManagedClusters().Get(ctx, hosting, metav1.GetOptions{})
				if err == nil {
					all.clusters[hosting] = cluster
				}
				return err
			})
		}
	}
	return err
}

// gatherWorks reads the ManifestWorks with the agents. In hosted mode they are in the namespace of another cluster.
func (h *hub) gatherWorks(ctx context.Context, all *objects, namespace string, names []string) error {
	list := func(namespace string, options metav1.ListOptions, use func(*workv1.ManifestWork)) error {
		return each(ctx, options, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.works.WorkV1().ManifestWorks(namespace).List(ctx, o)
		}, use)
	}
	add := func(w *workv1.ManifestWork) {
		name := cmp.Or(w.Labels[addonv1beta1.AddonNamespaceLabelKey], w.Namespace)
		if len(names) == 0 || slices.Contains(names, name) {
			all.works[name] = append(all.works[name], w)
		}
	}
	if namespace == metav1.NamespaceAll {
		return list(metav1.NamespaceAll, ofAddOn("", ""), add)
	}
	if err := list(namespace, ofAddOn("", ""), add); err != nil {
		return err
	}
	return list(metav1.NamespaceAll, ofAddOn(addonv1beta1.AddonNamespaceLabelKey, namespace), func(w *workv1.ManifestWork) {
		if w.Namespace != namespace { // else it was in the list before
			add(w)
		}
	})
}

// gatherNamespaces reads what the clusters' namespaces have beside ManagedClusterAddOns.
func (h *hub) gatherNamespaces(ctx context.Context, r *reading, all *objects, namespace string, byName metav1.ListOptions) {
	r.read(diagnosis.Bindings, func() error {
		all.bindings = map[string]*rbacv1.RoleBinding{}
		return each(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, manifests.HubRole).String()},
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return h.kube.RbacV1().RoleBindings(namespace).List(ctx, o)
			}, func(b *rbacv1.RoleBinding) { all.bindings[b.Namespace] = b })
	})
	r.read(diagnosis.Mirrors, func() error {
		all.mirrors = map[string]*v1alpha1.ConfigMapMirror{}
		err := each(ctx, byName, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.dynamic.Resource(v1alpha1.GroupVersion.WithResource("configmapmirrors")).Namespace(namespace).List(ctx, o)
		}, func(u *unstructured.Unstructured) {
			m := &v1alpha1.ConfigMapMirror{}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, m) == nil {
				all.mirrors[m.Namespace] = m
			}
		})
		all.mirrorsServed = !apierrors.IsNotFound(err)
		return err
	})
	if namespace != metav1.NamespaceAll {
		r.read(diagnosis.Events, func() error {
			err := each(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=ConfigMap"}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return h.kube.CoreV1().Events(namespace).List(ctx, o)
			}, func(e *corev1.Event) { all.events[namespace] = append(all.events[namespace], *e) })
			byTime(all.events[namespace])
			return err
		})
	}
}

// gatherHub reads what all clusters have in common. The facts are complete when r is done.
func (h *hub) gatherHub(ctx context.Context, r *reading) *diagnosis.Hub {
	facts := &diagnosis.Hub{}
	r.read(diagnosis.AddOnDefinition, func() error {
		definition, err := h.addOns.AddonV1alpha1().ClusterManagementAddOns().Get(ctx, manifests.AddonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		facts.Installed = true
		for _, p := range definition.Spec.InstallStrategy.Placements {
			facts.Placements = append(facts.Placements, p.Namespace+"/"+p.Name)
		}
		return nil
	})
	r.read(diagnosis.Controller, func() error { return h.gatherController(ctx, r, facts) })
	r.read(diagnosis.HubRole, func() error {
		_, err := h.kube.RbacV1().ClusterRoles().Get(ctx, manifests.HubRole, metav1.GetOptions{})
		facts.HasRole = err == nil
		return err
	})
	r.read(diagnosis.Configs, func() error {
		facts.Configs = map[string]bool{}
		return each(ctx, metav1.ListOptions{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return h.addOns.AddonV1alpha1().AddOnDeploymentConfigs(metav1.NamespaceAll).List(ctx, o)
		}, func(c *addonv1alpha1.AddOnDeploymentConfig) { facts.Configs[c.Namespace+"/"+c.Name] = true })
	})
	return facts
}

// gatherController reads the controller's Deployment, pods, lease and rights.
func (h *hub) gatherController(ctx context.Context, r *reading, facts *diagnosis.Hub) error {
	deployment, err := h.controller(ctx)
	if err != nil || deployment == nil {
		return err
	}
	facts.Controller = &diagnosis.Workload{Deployment: deployment}
	r.read(diagnosis.ControllerPods, func() error { return addPods(ctx, h.kube, facts.Controller) })
	r.read(diagnosis.ControllerRole, func() error {
		var err error
		user := fmt.Sprintf("system:serviceaccount:%s:%s", deployment.Namespace, deployment.Spec.Template.Spec.ServiceAccountName)
		facts.ControllerDenied, err = denied(ctx, h.kube, user, controllerRights)
		return err
	})
	return found(&facts.Lease)(h.kube.CoordinationV1().Leases(deployment.Namespace).Get(ctx, manifests.ControllerName, metav1.GetOptions{}))
}

// controller returns the controller's Deployment, in whatever namespace it is, or nil.
func (h *hub) controller(ctx context.Context) (*appsv1.Deployment, error) {
	selector := metav1.ListOptions{LabelSelector: nameLabel + "=" + manifests.ControllerName}
	list, err := h.kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, selector)
	if apierrors.IsForbidden(err) {
		list, err = h.kube.AppsV1().Deployments(diagnosis.ControllerNamespace).List(ctx, selector)
	}
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// controllerRights are those without which the controller does not do its work: see deploy/base/rbac.yaml.
var controllerRights = []authorizationv1.ResourceAttributes{
	{Group: "addon.open-cluster-management.io", Resource: "managedclusteraddons", Verb: "list", Name: manifests.AddonName},
	{Group: "addon.open-cluster-management.io", Resource: "managedclusteraddons", Subresource: "status", Verb: "patch", Name: manifests.AddonName},
	{Group: "work.open-cluster-management.io", Resource: "manifestworks", Verb: "create"},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "approval", Verb: "update"},
	{Group: "certificates.k8s.io", Resource: "signers", Verb: "approve", Name: certificatesv1.KubeAPIServerClientSignerName},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Verb: "create"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "bind", Name: manifests.HubRole},
	{Group: v1alpha1.GroupVersion.Group, Resource: "configmapmirrors", Verb: "create"},
}

// denied returns which of the rights a user lacks. For example, "create manifestworks".
func denied(ctx context.Context, kube kubernetes.Interface, user string, rights []authorizationv1.ResourceAttributes) ([]string, error) {
	var lacks []string
	for _, right := range rights {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
			Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &right}}
		answer, err := kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !answer.Status.Allowed {
			resource := right.Resource
			if right.Subresource != "" {
				resource += "/" + right.Subresource
			}
			lacks = append(lacks, right.Verb+" "+resource)
		}
	}
	return lacks, nil
}

// addPods adds the pods of a Deployment, and the events about them.
func addPods(ctx context.Context, kube kubernetes.Interface, w *diagnosis.Workload) error {
	selector, err := metav1.LabelSelectorAsSelector(w.Deployment.Spec.Selector)
	if err != nil {
		return err
	}
	return podsOf(ctx, kube, w.Deployment.Namespace, selector.String(), w)
}

// podsOf adds the pods that a selector selects, and the events about them.
func podsOf(ctx context.Context, kube kubernetes.Interface, namespace, selector string, w *diagnosis.Workload) error {
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range pods.Items {
		w.Pods = append(w.Pods, &pods.Items[i])
		names[pods.Items[i].Name] = true
	}
	events, err := kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if names[event.InvolvedObject.Name] {
			w.Events = append(w.Events, event)
		}
	}
	byTime(w.Events)
	return nil
}

// byTime sorts events, the latest last.
func byTime(events []corev1.Event) {
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
}

func lastSeen(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
}
