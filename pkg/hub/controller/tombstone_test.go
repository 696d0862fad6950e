package controller

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	clusterfake "open-cluster-management.io/api/client/cluster/clientset/versioned/fake"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
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
	ctx, cancel := context.WithCancel(t.Context())
	defer i.shutdown()
	defer cancel()
	i.start(ctx)
	if err := i.awaitSync(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
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

// deliver says what becomes of a handler that gets a tombstone of the object.
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

// startFramework starts the framework's controllers with our add-on on informers
// of a hub that is empty.
func startFramework(t *testing.T, wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) *informers {
	t.Helper()
	return startFrameworkOn(t, func(*addonfake.Clientset) {}, wrap)
}

// startFrameworkOn is startFramework with an add-on API that prepare has changed.
func startFrameworkOn(t *testing.T, prepare func(*addonfake.Clientset),
	wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) *informers {
	t.Helper()
	c := emptyHub(prepare)
	manager := addonmanager.NewBaseAddonManagerImpl(&rest.Config{Host: "https://127.0.0.1:1"})
	i := newInformers(c, wrap)
	if err := manager.AddAgent(addon.New("image", c.kube, i.cache())); err != nil {
		t.Fatal(err)
	}
	if err := manager.StartWithInformers(t.Context(), ownedWorks{c.work, c.addon.AddonV1beta1()},
		i.work.Work().V1().ManifestWorks(), i.kube, i.addon, i.cluster, i.dynamic); err != nil {
		t.Fatal(fmt.Errorf("start the framework: %w", err))
	}
	return i
}

func emptyHub(prepare func(*addonfake.Clientset)) *clients {
	configs := map[schema.GroupVersionResource]string{utils.AddOnDeploymentConfigGVR: "AddOnDeploymentConfigList"}
	addons := addonfake.NewSimpleClientset()
	prepare(addons)
	return &clients{
		kube: kubefake.NewClientset(), addon: addons, cluster: clusterfake.NewSimpleClientset(),
		work: workfake.NewSimpleClientset(), dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), configs),
	}
}
