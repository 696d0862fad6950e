package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

func TestAwaitSync(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		broken bool // the add-on API cannot be read
		ended  bool // the controller is stopped meanwhile
		want   string
	}{
		{name: "all is read", reason: "the normal case"},
		{name: "the conversion webhook is away", broken: true,
			want: "sync the caches within 3s: could not read ManagedClusterAddOn: check the API server, the controller's rights, " +
				"and the conversion webhook of the add-on API",
			reason: "the error names what is missing and what to do"},
		{name: "stopped while waiting", broken: true, ended: true, reason: "a normal end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i := startFrameworkOn(t, func(addons *addonfake.Clientset) {
				if test.broken {
					addons.PrependReactor("list", "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) {
						return true, nil, errors.New("conversion webhook failed")
					})
				}
			}, withLastKnown)
			ctx, cancel := context.WithCancel(t.Context())
			defer i.shutdown()
			defer cancel()
			i.start(ctx)
			timeout := time.Minute
			if test.broken {
				timeout = 3 * time.Second
			}
			if test.ended {
				cancel()
			}
			var got string
			if err := i.awaitSync(ctx, timeout); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s:\nwant %q\ngot  %q", test.reason, test.want, got)
			}
		})
	}
}

// TestStoredVersion: ManagedClusterAddOns are read and written in the version that the hub stores.
func TestStoredVersion(t *testing.T) {
	for hash, want := range map[string]string{"xaW1JUoc3Ws=": "v1alpha1", "fpELxpXcuSs=": "v1beta1", "": "v1beta1"} {
		t.Run(hash, func(t *testing.T) {
			hub, err := newClients(&frame.Hub{Config: &rest.Config{}, Resources: frame.Resources{
				addonv1beta1.GroupVersion.String(): {{Name: "managedclusteraddons", StorageVersionHash: hash}}}})
			if err != nil {
				t.Fatal(err)
			}
			c := emptyHub(func(*addonfake.Clientset) {})
			c.usesStored = hub.usesStored
			of := metav1.ObjectMeta{Namespace: "cluster1", Name: "helloworld"}
			for _, addOn := range []runtime.Object{&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: of}, &addonv1beta1.ManagedClusterAddOn{ObjectMeta: of}} {
				if err := c.addon.(*addonfake.Clientset).Tracker().Add(addOn); err != nil {
					t.Fatal(err)
				}
			}
			i := newInformers(c, withLastKnown)
			i.addon.Addon().V1beta1().ManagedClusterAddOns().Informer()
			ctx := startInformers(t, i)
			writing := c.with(turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})).addon
			_, _ = writing.AddonV1beta1().ManagedClusterAddOns("cluster1").Patch(ctx, "helloworld", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			got := map[string]string{}
			for _, action := range c.addon.(*addonfake.Clientset).Actions() {
				if r := action.GetResource(); r.Resource == "managedclusteraddons" {
					got[action.GetVerb()] = r.Version
				}
			}
			delete(got, "watch") // it may not have begun
			if diff := cmp.Diff(map[string]string{"list": want, "patch": want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlim(t *testing.T) {
	now := metav1.Now()
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	annotations := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	available := metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue}
	tombstone := cache.DeletedFinalStateUnknown{Key: "cluster1"}
	tests := []struct {
		name      string
		reason    string
		obj, want any
	}{
		{
			name: "an add-on", reason: "the framework writes it back whole: what is dropped here would be lost on the hub",
			obj: &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Annotations: annotations,
				Finalizers: []string{"f"}, ManagedFields: managed}, Status: addonv1beta1.ManagedClusterAddOnStatus{Namespace: "default"}},
			want: &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Annotations: annotations,
				Finalizers: []string{"f"}}, Status: addonv1beta1.ManagedClusterAddOnStatus{Namespace: "default"}},
		},
		{
			name: "a cluster", reason: "the controller never writes it, and reads only these fields",
			obj: &clusterv1.ManagedCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "cluster1", UID: "1", ResourceVersion: "2", DeletionTimestamp: &now, ManagedFields: managed,
					Labels: map[string]string{"a": "b"}, Annotations: map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: "{}", "a": "b"}},
				Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true, LeaseDurationSeconds: 60},
				Status: clusterv1.ManagedClusterStatus{Conditions: []metav1.Condition{{Type: "Other"}, available},
					ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "a", Value: "b"}}},
			},
			want: &clusterv1.ManagedCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "cluster1", UID: "1", ResourceVersion: "2", DeletionTimestamp: &now,
					Annotations: map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: "{}"}},
				Spec:   clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
				Status: clusterv1.ManagedClusterStatus{Conditions: []metav1.Condition{available}},
			},
		},
		{
			name: "a config", reason: "it is unstructured, for its hash",
			obj: &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "a", "managedFields": []any{}}, "spec": map[string]any{"a": "b"}}},
			want: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"a": "b"}}},
		},
		{name: "a tombstone", reason: "it has no metadata", obj: tombstone, want: tombstone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := slim(test.obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			again, err := slim(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, again); diff != "" {
				t.Errorf("the second time it is not the same (-want +got):\n%s", diff)
			}
		})
	}
}
