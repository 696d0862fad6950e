package controller

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	clusterfake "open-cluster-management.io/api/client/cluster/clientset/versioned/fake"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager"
	"open-cluster-management.io/addon-framework/pkg/agent"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// The framework's own controllers are started on our informers, and each handler
// that they have added gets a tombstone. Without the wrapping most of them die of
// it: should a version of the framework no longer do that, the second case fails,
// and the wrapping can go.
func TestFrameworkSurvivesTombstones(t *testing.T) {
	plain := func(informer cache.SharedIndexInformer) cache.SharedIndexInformer { return informer }
	tests := []struct {
		name   string
		reason string
		wrap   func(cache.SharedIndexInformer) cache.SharedIndexInformer
		want   map[string]string // by type: what becomes of each handler
	}{
		{
			name: "wrapped", reason: "every handler gets the object", wrap: withLastKnown,
			want: map[string]string{
				"CertificateSigningRequest": "survives survives", "ClusterManagementAddOn": "survives survives",
				"ManagedCluster": "survives", "ManagedClusterAddOn": "survives survives survives", "ManifestWork": "survives",
			},
		},
		{
			name: "as the framework does it", reason: "its event filters do not look for tombstones", wrap: plain,
			want: map[string]string{
				"CertificateSigningRequest": "dies dies", "ClusterManagementAddOn": "dies survives",
				"ManagedCluster": "survives", "ManagedClusterAddOn": "dies dies survives", "ManifestWork": "dies",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var recorders []*handlerRecorder
			startFramework(t, func(informer cache.SharedIndexInformer) cache.SharedIndexInformer {
				recorder := &handlerRecorder{SharedIndexInformer: informer}
				recorders = append(recorders, recorder)
				return test.wrap(recorder)
			})
			got := map[string]string{}
			objects := deletedObjects()
			for i, recorder := range recorders {
				typeName := reflect.TypeOf(objects[i]).Elem().Name()
				for _, handler := range recorder.handlers {
					if got[typeName] != "" {
						got[typeName] += " "
					}
					got[typeName] += deliver(handler, objects[i])
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The framework must use no informer that newInformers does not wrap.
func TestEveryTypedInformerIsWrapped(t *testing.T) {
	i := startFramework(t, withLastKnown)
	ctx := startInformers(t, i)
	got := map[string]bool{}
	for _, synced := range []map[reflect.Type]bool{
		i.kube.WaitForCacheSync(ctx.Done()), i.addon.WaitForCacheSync(ctx.Done()),
		i.cluster.WaitForCacheSync(ctx.Done()), i.work.WaitForCacheSync(ctx.Done()),
	} {
		for object := range synced {
			got[object.Elem().Name()] = true
		}
	}
	want := map[string]bool{"RoleBinding": true} // the add-on's own, without handlers
	for _, object := range deletedObjects() {
		want[reflect.TypeOf(object).Elem().Name()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the framework's informers (-wrapped +used):\n%s", diff)
	}
}

func TestLastKnownHandler(t *testing.T) {
	object := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "work"}}
	tests := []struct {
		name   string
		reason string
		obj    any
		want   []any
	}{
		{name: "an object", obj: object, want: []any{object}, reason: "what is no tombstone is handed on"},
		{name: "a tombstone", obj: cache.DeletedFinalStateUnknown{Key: "cluster1/work", Obj: object}, want: []any{object},
			reason: "the handler gets what is in it"},
		{name: "an empty tombstone", obj: cache.DeletedFinalStateUnknown{Key: "cluster1/work"},
			reason: "no handler could use it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []any
			lastKnownHandler{cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) { got = append(got, obj) }}}.OnDelete(test.obj)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// deliver returns what a handler does with a tombstone of the object.
func deliver(handler cache.ResourceEventHandler, object runtime.Object) (outcome string) {
	defer func() {
		if recover() != nil {
			outcome = "dies"
		}
	}()
	key, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return err.Error()
	}
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: object})
	return "survives"
}

// deletedObjects has one object for each wrapped informer, in the order in which
// they are made.
func deletedObjects() []runtime.Object {
	const cluster = "cluster1"
	ofAddon := map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName}
	return []runtime.Object{
		&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "addon-" + cluster + "-helloworld-x", Labels: ofAddon}},
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
		&addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: manifests.AddonName}},
		&addonv1beta1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName}},
		&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "addon-helloworld-deploy-0", Labels: ofAddon}},
	}
}

// handlerRecorder keeps the handlers that are added to an informer.
type handlerRecorder struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (r *handlerRecorder) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	r.handlers = append(r.handlers, handler)
	return r.SharedIndexInformer.AddEventHandler(handler)
}

// startFramework creates the framework's controllers with our add-on on informers
// of a hub that is empty.
func startFramework(t *testing.T, wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) *informers {
	t.Helper()
	return startFrameworkOn(t, func(*addonfake.Clientset) {}, wrap)
}

// startInformers starts the informers until the test ends, and returns their context when
// their caches have synced.
func startInformers(t *testing.T, i *informers) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		i.shutdown()
	})
	i.start(ctx)
	if err := i.awaitSync(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// startFrameworkOn is startFramework with an add-on API that prepare has changed.
func startFrameworkOn(t *testing.T, prepare func(*addonfake.Clientset),
	wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) *informers {
	t.Helper()
	c := emptyHub(prepare)
	i := newInformers(c, wrap)
	order := turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	newFramework(c, c.work, i, addon.New("image", c.kube, i.cache()), order)
	return i
}

func emptyHub(prepare func(*addonfake.Clientset)) *clients {
	configs := map[schema.GroupVersionResource]string{utils.AddOnDeploymentConfigGVR: "AddOnDeploymentConfigList"}
	addons := addonfake.NewSimpleClientset()
	prepare(addons)
	scheme := metadatafake.NewTestScheme()
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return &clients{
		kube: kubefake.NewClientset(), addon: addons, cluster: clusterfake.NewSimpleClientset(),
		work: workfake.NewSimpleClientset(), dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), configs),
		metadata: metadatafake.NewSimpleMetadataClient(scheme),
	}
}

// approver approves every request.
type approver struct{}

func (approver) Manifests(context.Context, *clusterv1.ManagedCluster, *addonv1beta1.ManagedClusterAddOn) ([]runtime.Object, error) {
	return nil, nil
}

func (approver) GetAgentAddonOptions() agent.AgentAddonOptions {
	return agent.AgentAddonOptions{AddonName: manifests.AddonName, Registration: &agent.RegistrationOption{
		CSRApproveCheck: func(context.Context, *clusterv1.ManagedCluster, *addonv1beta1.ManagedClusterAddOn,
			*certificatesv1.CertificateSigningRequest) bool {
			return true
		},
	}}
}

// TestApprovalIsTriedAgain: when the API server refuses an approval once, the framework's
// controller retries it. Without the copies it finds the request approved in its cache.
// When a later version of the framework no longer changes its cache, the second case
// fails, and the copies can be removed.
func TestApprovalIsTriedAgain(t *testing.T) {
	type test struct {
		name   string
		copied bool
	}
	tests := []test{{"with copies", true}}
	if !raceDetector {
		// Without copies the framework's approving controller changes the request
		// that its signing controller reads: a race of its own.
		tests = append(tests, test{"as the framework does it", false})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var approvals atomic.Int32
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method != http.MethodPut || approvals.Add(1) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_ = json.NewEncoder(w).Encode(&certificatesv1.CertificateSigningRequest{})
			}))
			t.Cleanup(api.Close)
			i := runWithRequest(t, api.URL, test.copied)
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				if test.copied {
					return approvals.Load() >= 2, nil
				}
				return approvals.Load() == 1 && cachedAsApproved(i), nil
			})
			if err != nil {
				t.Fatalf("%d approvals were sent: %v", approvals.Load(), err)
			}
			if test.copied && cachedAsApproved(i) {
				t.Error("the cache has an approval that the API server has not")
			}
		})
	}
}

const requestName = "addon-cluster1-helloworld-1"

// runWithRequest runs the framework's controllers on a hub with one request,
// and sends its approvals to the API server at url.
func runWithRequest(t *testing.T, url string, copies bool) *informers {
	t.Helper()
	c := emptyHub(func(*addonfake.Clientset) {})
	labels := map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName, clusterv1.ClusterNameLabelKey: "cluster1"}
	for _, err := range []error{
		c.cluster.(clienttesting.FakeClient).Tracker().Add(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}),
		c.addon.(clienttesting.FakeClient).Tracker().Add(&addonv1beta1.ManagedClusterAddOn{
			ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: manifests.AddonName}}),
		c.kube.(clienttesting.FakeClient).Tracker().Add(&certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: requestName, Labels: labels}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	manager := addonmanager.NewBaseAddonManagerImpl(&rest.Config{Host: url})
	if err := manager.AddAgent(approver{}); err != nil {
		t.Fatal(err)
	}
	i := newInformers(c, withLastKnown)
	if !copies {
		i.kube = kubeinformers.NewSharedInformerFactory(c.kube, resyncPeriod)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(i.shutdown)
	t.Cleanup(cancel)
	if err := manager.StartWithInformers(ctx, c.work, i.work.Work().V1().ManifestWorks(), i.kube, i.addon, i.cluster, i.dynamic); err != nil {
		t.Fatal(err)
	}
	i.start(ctx)
	if err := i.awaitSync(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	return i
}

func cachedAsApproved(i *informers) bool {
	request, err := i.kube.Certificates().V1().CertificateSigningRequests().Lister().Get(requestName)
	return err == nil && len(request.Status.Conditions) > 0
}
