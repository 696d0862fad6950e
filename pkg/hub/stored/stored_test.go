package stored

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
)

func TestInV1alpha1(t *testing.T) {
	// as a hub with OCM v1.2.1 answers, and one that stored v1beta1 would
	const v1alpha1, v1beta1 = "xaW1JUoc3Ws=", "fpELxpXcuSs="
	tests := []struct {
		name, reason string
		served       []metav1.APIResource
		want         bool
	}{
		{name: "stored in v1alpha1", served: []metav1.APIResource{{Name: "addontemplates"}, {Name: "managedclusteraddons", StorageVersionHash: v1alpha1}}, want: true},
		{name: "stored in v1beta1", served: []metav1.APIResource{{Name: "managedclusteraddons", StorageVersionHash: v1beta1}}, want: false,
			reason: "the framework's own version is the cheapest then"},
		{name: "another resource is", served: []metav1.APIResource{{Name: "managedclusteraddons/status", StorageVersionHash: v1alpha1}}, want: false},
		{name: "the hub does not tell", served: []metav1.APIResource{{Name: "managedclusteraddons"}}, want: false,
			reason: "v1beta1 is served by every hub that this controller accepts"},
		{name: "nothing", want: false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := InV1alpha1(test.served); got != test.want {
				t.Errorf("got %t: %s", got, test.reason)
			}
		})
	}
}

func stored(name, version string) *addonv1alpha1.ManagedClusterAddOn {
	return &addonv1alpha1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "helloworld", UID: "uid", ResourceVersion: version, Finalizers: []string{"f"}},
		Spec:       addonv1alpha1.ManagedClusterAddOnSpec{InstallNamespace: "here"}, //nolint:staticcheck // the field of the stored version
		Status:     addonv1alpha1.ManagedClusterAddOnStatus{Conditions: []metav1.Condition{{Type: "Configured", Status: metav1.ConditionTrue}}},
	}
}

func converted(name, version string) *addonv1beta1.ManagedClusterAddOn {
	return &addonv1beta1.ManagedClusterAddOn{
		TypeMeta: metav1.TypeMeta{Kind: "ManagedClusterAddOn", APIVersion: "addon.open-cluster-management.io/v1beta1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "helloworld", UID: "uid", ResourceVersion: version, Finalizers: []string{"f"},
			Annotations: map[string]string{"addon.open-cluster-management.io/v1alpha1-install-namespace": "here"}},
		Status: addonv1beta1.ManagedClusterAddOnStatus{Conditions: []metav1.Condition{{Type: "Configured", Status: metav1.ConditionTrue}}},
	}
}

func TestConvert(t *testing.T) {
	var got addonv1beta1.ManagedClusterAddOn
	if err := Convert(stored("cluster1", "7"), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(converted("cluster1", "7"), &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var bare addonv1beta1.ManagedClusterAddOn
	if err := Convert(&addonv1alpha1.ManagedClusterAddOn{}, &bare); err != nil || bare.Annotations != nil {
		t.Errorf("an add-on without a namespace gets annotations %v, %v", bare.Annotations, err)
	}
}

// TestConvertEvent: what is not an add-on of the stored version reaches the informer as it is.
func TestConvertEvent(t *testing.T) {
	expired := &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired}
	for _, test := range []struct {
		name     string
		in, want watch.Event
	}{
		{"a change", watch.Event{Type: watch.Modified, Object: stored("cluster1", "7")}, watch.Event{Type: watch.Modified, Object: converted("cluster1", "7")}},
		{"a bookmark", watch.Event{Type: watch.Bookmark, Object: &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}},
			watch.Event{Type: watch.Bookmark, Object: &addonv1beta1.ManagedClusterAddOn{TypeMeta: converted("", "").TypeMeta, ObjectMeta: metav1.ObjectMeta{
				ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}}},
		{"an error", watch.Event{Type: watch.Error, Object: expired}, watch.Event{Type: watch.Error, Object: expired}},
	} {
		got, keep := convertEvent(test.in)
		if diff := cmp.Diff(test.want, got); diff != "" || !keep {
			t.Errorf("%s: kept %t (-want +got):\n%s", test.name, keep, diff)
		}
	}
}

// TestAddOns: an informer has what the hub stores, and what changes later.
func TestAddOns(t *testing.T) {
	client := addonfake.NewSimpleClientset()
	create := func(object runtime.Object) {
		t.Helper()
		if err := client.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	create(stored("cluster1", "7"))
	var tweaked bool
	lister := AddOns(client, func(*metav1.ListOptions) { tweaked = true })
	informer := cache.NewSharedIndexInformer(lister, &addonv1beta1.ManagedClusterAddOn{}, 0, cache.Indexers{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	create(stored("cluster2", "8"))
	for len(informer.GetStore().List()) < 2 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	got := map[string]any{}
	for _, key := range informer.GetStore().ListKeys() {
		got[key], _, _ = informer.GetStore().GetByKey(key)
	}
	want := map[string]any{"cluster1/helloworld": converted("cluster1", "7"), "cluster2/helloworld": converted("cluster2", "8")}
	if diff := cmp.Diff(want, got); diff != "" || !tweaked {
		t.Errorf("selected %t (-want +got):\n%s", tweaked, diff)
	}
	cancel()
	<-ended
}
