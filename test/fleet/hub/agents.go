package hub

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Times are the moments, by cluster, at which the hub's watchers see what happens to an add-on.
type Times struct {
	Configured, Shipped, Requested, Approved, Cleaned, Registered, Applied map[string]time.Time
}

// Agents play OCM's registration and work agents of all clusters: they request a certificate when
// the add-on is registered, and report a ManifestWork as applied with a running Deployment. They
// sign as kube-controller-manager does.
type Agents struct {
	hub    *Hub
	admin  kubernetes.Interface
	client dynamic.Interface
	key    *ecdsa.PrivateKey

	mu      sync.Mutex
	times   Times
	changed time.Time
	work    chan func(context.Context) error
}

// workers is how many requests the agents make at the same time.
const workers = 16

var (
	addOnResource   = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons"}
	workResource    = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
	requestResource = schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
)

// Agents returns agents that have done nothing yet.
func (h *Hub) Agents() (*Agents, error) {
	config := rest.CopyConfig(h.cluster.Admin)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	seen := func() map[string]time.Time { return make(map[string]time.Time, h.Clusters) }
	return &Agents{hub: h, client: client, admin: admin, key: key, changed: time.Now(),
		times: Times{seen(), seen(), seen(), seen(), seen(), seen(), seen()},
		work:  make(chan func(context.Context) error, 8*h.Clusters)}, nil
}

// Run plays the agents until ctx ends.
func (a *Agents) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	errs := make(chan error, workers+3)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for resource, handle := range map[schema.GroupVersionResource]func(*unstructured.Unstructured, string){
		addOnResource: a.addOn, workResource: a.shipped, requestResource: a.request,
	} {
		group.Go(func() { errs <- a.watch(ctx, resource, handle) })
	}
	for range workers {
		group.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case do := <-a.work:
					if err := do(ctx); err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-errs:
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("play the agents: %w", err)
	}
}

// watch passes every event to handle. It begins the watch again where it was when the API server ends it: after 30 to 60
// minutes, or when this program was slower than the events.
func (a *Agents) watch(ctx context.Context, resource schema.GroupVersionResource, handle func(*unstructured.Unstructured, string)) error {
	client := a.client.Resource(resource)
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{WatchFuncWithContext: client.Watch})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("watch %s: got %v", resource.Resource, event.Object)
		}
		a.mu.Lock()
		a.changed = time.Now()
		handle(object, string(event.Type))
		a.mu.Unlock()
	}
	return fmt.Errorf("watch %s: ended", resource.Resource)
}

// Seen returns how many clusters have each moment, the moments, and the time of the last event.
func (a *Agents) Seen() (times Times, changed time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cloned := Times{}
	for from, to := range map[*map[string]time.Time]*map[string]time.Time{
		&a.times.Configured: &cloned.Configured, &a.times.Shipped: &cloned.Shipped, &a.times.Requested: &cloned.Requested,
		&a.times.Approved: &cloned.Approved, &a.times.Cleaned: &cloned.Cleaned, &a.times.Registered: &cloned.Registered,
		&a.times.Applied: &cloned.Applied,
	} {
		*to = make(map[string]time.Time, len(*from))
		for name, at := range *from {
			(*to)[name] = at
		}
	}
	return cloned, a.changed
}

// first records the first time, and reports whether this is it.
func (a *Agents) first(times map[string]time.Time, cluster string) bool {
	if _, known := times[cluster]; known {
		return false
	}
	times[cluster] = a.changed
	return true
}

func conditionTrue(object *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name && c["status"] == "True" {
			return true
		}
	}
	return false
}

func (a *Agents) addOn(object *unstructured.Unstructured, _ string) {
	cluster := object.GetNamespace()
	if conditionTrue(object, "Configured") {
		a.first(a.times.Configured, cluster)
	}
	if conditionTrue(object, "ManifestApplied") {
		a.first(a.times.Applied, cluster)
	}
	if !conditionTrue(object, "RegistrationApplied") {
		return
	}
	a.first(a.times.Registered, cluster)
	registrations, _, _ := unstructured.NestedSlice(object.Object, "status", "registrations")
	if len(registrations) == 0 || !a.first(a.times.Requested, cluster) {
		return
	}
	subject, _, _ := unstructured.NestedMap(registrations[0].(map[string]any), "subject")
	user, _ := subject["user"].(string)
	groups, _, _ := unstructured.NestedStringSlice(subject, "groups")
	a.work <- func(ctx context.Context) error { return a.requestCertificate(ctx, cluster, user, groups) }
}

// requestCertificate requests the add-on's certificate as the cluster's registration agent.
func (a *Agents) requestCertificate(ctx context.Context, cluster, user string, groups []string) error {
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: groups}, DNSNames: []string{"helloworld.addon.open-cluster-management.io"}}, a.key)
	if err != nil {
		return err
	}
	body, err := json.Marshal(&certificatesv1.CertificateSigningRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "addon-" + cluster + "-helloworld-", Labels: map[string]string{
			"open-cluster-management.io/cluster-name": cluster, "open-cluster-management.io/addon-name": "helloworld"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	})
	if err != nil {
		return err
	}
	return a.admin.CertificatesV1().RESTClient().Post().Resource("certificatesigningrequests").Body(body).
		SetHeader("Content-Type", "application/json").
		SetHeader("Impersonate-User", "system:open-cluster-management:"+cluster+":agent").
		SetHeader("Impersonate-Group", "system:masters").Do(ctx).Error()
}

// request signs an approved request. Any certificate will do.
func (a *Agents) request(object *unstructured.Unstructured, event string) {
	cluster := object.GetLabels()["open-cluster-management.io/cluster-name"]
	switch {
	case cluster == "":
	case event == "DELETED":
		a.first(a.times.Cleaned, cluster)
	case conditionTrue(object, "Approved") && a.first(a.times.Approved, cluster):
		name := object.GetName()
		a.work <- func(ctx context.Context) error {
			return a.patch(ctx, requestResource, "", name, map[string]any{"certificate": a.hub.cluster.Authority.PEM()})
		}
	}
}

// shipped reports the work as applied, and its Deployment as running.
func (a *Agents) shipped(object *unstructured.Unstructured, event string) {
	cluster := object.GetNamespace()
	if event != "ADDED" || !a.first(a.times.Shipped, cluster) {
		return
	}
	name, status := object.GetName(), workStatus(object.Object)
	feedback := []any{number("generation", 1), number("observedGeneration", 1), number("replicas", 1), number("updatedReplicas", 1),
		number("availableReplicas", 1)}
	found, _, _ := unstructured.NestedSlice(object.Object, "spec", "workload", "manifests")
	for i, manifest := range found {
		if manifest := (&unstructured.Unstructured{Object: manifest.(map[string]any)}); manifest.GetKind() == "Deployment" {
			hash := manifest.GetAnnotations()["helloworld.open-cluster-management.io/config-hash"]
			reported := status["resourceStatus"].(map[string]any)["manifests"].([]any)[i].(map[string]any)
			reported["statusFeedback"] = map[string]any{"values": append(feedback,
				map[string]any{"name": "configHash", "fieldValue": map[string]any{"type": "String", "string": hash}})}
		}
	}
	for _, c := range status["conditions"].([]any) {
		c.(map[string]any)["observedGeneration"] = object.GetGeneration()
	}
	a.work <- func(ctx context.Context) error { return a.patch(ctx, workResource, cluster, name, status) }
}

func number(name string, value int64) map[string]any {
	return map[string]any{"name": name, "fieldValue": map[string]any{"type": "Integer", "integer": value}}
}

func (a *Agents) patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = a.client.Resource(resource).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return gone(err)
}
