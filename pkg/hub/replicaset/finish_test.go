package replicaset

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	restfake "k8s.io/client-go/rest/fake"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// TestFinish: the finalizer stays while a ConfigMap is left on a cluster with the add-on. The API
// server is asked, because the caches may be stale: they are empty here.
func TestFinish(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name, reason string
		left         bool
		addOn        *metav1.PartialObjectMetadata
		stays        bool
	}{
		{name: "nothing is left", reason: "the set may go", addOn: &metav1.PartialObjectMetadata{}},
		{name: "left, enabled", reason: "it was enabled again a moment ago", left: true, addOn: &metav1.PartialObjectMetadata{}, stays: true},
		{name: "left, not enabled", reason: "the right to write ended with the add-on", left: true},
		{name: "left, being disabled", reason: "as if it were not enabled", left: true,
			addOn: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"f"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", UID: "s",
				Finalizers: []string{manifests.ReplicaSetFinalizer}}}
			kube, patches := fake.NewClientset(), 0
			if test.left {
				for _, name := range []string{"settings", "urls"} {
					w := plan.Write{Action: plan.Create, Cluster: "cluster1", Name: name, Revision: "r1", Since: time.Now()}
					if err := kube.Tracker().Add(newConfigMap(set, w, render.Content{}, nil)); err != nil {
						t.Fatal(err)
					}
				}
			}
			addOns := metadataOf(t, test.addOn)
			hub := &clients{kube: kube, metadata: addOns}
			hub.own, hub.codec = patched(t, &patches)
			c := &Controller{clients: hub}
			err := c.finish(t.Context(), set)
			if errors.Is(err, errStale) != test.stays || (err == nil) == test.stays {
				t.Errorf("%s: got %v", test.reason, err)
			}
			if looks := len(addOns.Actions()); looks > 1 {
				t.Errorf("%d requests for the add-on of one cluster", looks)
			}
			if (patches == 0) != test.stays {
				t.Errorf("%s: %d requests for the finalizer", test.reason, patches)
			}
		})
	}
}

// metadataOf returns a client of a hub with this ManagedClusterAddOn of cluster1, if it is not nil.
func metadataOf(t *testing.T, addOn *metav1.PartialObjectMetadata) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := metadatafake.NewSimpleMetadataClient(scheme)
	if addOn == nil {
		return client
	}
	addOn.TypeMeta = metav1.TypeMeta{APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ManagedClusterAddOn"}
	addOn.Namespace, addOn.Name = "cluster1", manifests.AddonName
	if err := client.Tracker().Create(addOnResource, addOn, addOn.Namespace); err != nil {
		t.Fatal(err)
	}
	return client
}

// patched returns a client of the add-on's API that counts its requests. The API server has no set.
func patched(t *testing.T, requests *int) (*restfake.RESTClient, runtime.ParameterCodec) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &restfake.RESTClient{
		GroupVersion: v1alpha1.GroupVersion, NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		Client: restfake.CreateHTTPClient(func(*http.Request) (*http.Response, error) {
			*requests++
			return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader(""))}, nil
		}),
	}, runtime.NewParameterCodec(scheme)
}
