package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

type workList = []*workv1.ManifestWork

// shipped returns the ManifestWork of an agent with these values, in the namespace of
// the cluster where it runs.
func shipped(t *testing.T, addon *addonv1beta1.ManagedClusterAddOn, place Place, values Values) *workv1.ManifestWork {
	t.Helper()
	values.ClusterName, values.AddOnUID = addon.Namespace, addon.UID
	values.InstallNamespace, values.Hosted = place.Namespace, place.HostingCluster != ""
	objects, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	namespace := place.HostingCluster
	if namespace == "" {
		namespace = addon.Namespace
	}
	return hubobjects.Ship(t, addon, namespace, objects)
}

func TestNewShipped(t *testing.T) {
	addon := hubobjects.AddOn("cluster2", "here")
	mine := shipped(t, addon, Place{Namespace: "here"}, Values{Image: "image"})
	earlier := mine.DeepCopy()
	earlier.OwnerReferences[0].UID = "earlier"
	going := mine.DeepCopy()
	now := metav1.Now()
	going.DeletionTimestamp = &now
	bare := mine.DeepCopy()
	bare.Spec.Workload.Manifests = bare.Spec.Workload.Manifests[:1]
	onOne := shipped(t, addon, Place{"cluster1", "hosted"}, Values{Image: "image"})
	onTwo := shipped(t, addon, Place{"cluster9", "hosted"}, Values{Image: "image"})
	before := hubobjects.AddOn("cluster2", "hosted")
	before.Finalizers = []string{addonv1beta1.AddonHostingManifestFinalizer}
	planted := onTwo.DeepCopy()
	planted.Spec.Workload.Manifests[len(planted.Spec.Workload.Manifests)-1].Raw =
		[]byte(`{"kind":"Deployment","metadata":{"name":"helloworld-agent","annotations":{"addon.open-cluster-management.io/hosted-manifest-location":"hosting"}}}`)
	tests := []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works workList
		want  *Place
	}{
		{name: "nothing"},
		{name: "the agent", works: workList{mine}, want: &Place{Namespace: "here"}},
		{name: "of an earlier ManagedClusterAddOn", works: workList{earlier}},
		{name: "being deleted", works: workList{going}},
		{name: "without an agent: the managed cluster's part of hosted mode", works: workList{bare}},
		{name: "hosted", addon: hubobjects.HostedAddOn("cluster2", "hosted"), works: workList{bare, onOne}, want: &Place{"cluster1", "hosted"}},
		{name: "hosted, the annotation taken away since", addon: before, works: workList{bare, onOne}, want: &Place{"cluster1", "hosted"}},
		{name: "planted by a cluster that never hosted it", works: workList{mine, onTwo}, want: &Place{Namespace: "here"}},
		{name: "planted before the add-on has an agent", works: workList{onTwo}},
		{name: "planted, and no agent at all", addon: before, works: workList{planted, onOne}, want: &Place{"cluster1", "hosted"}},
		{name: "left on a former hosting cluster too", addon: hubobjects.HostedAddOn("cluster2", "hosted"), works: workList{onTwo, onOne},
			want: &Place{"cluster1", "hosted"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.addon == nil {
				test.addon = addon
			}
			found, err := NewShipped(test.addon, OwnWorks(test.addon, test.works))
			if err != nil {
				t.Fatal(err)
			}
			var got *Place
			if found != nil {
				got = &found.Place
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
