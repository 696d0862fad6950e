package addon

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/constants"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

func TestHostedModeInfo(t *testing.T) {
	silent := hubobjects.AddOn("cluster2", "own")
	silent.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = ""
	former := hubobjects.HostedAddOn("cluster2", "own")
	work := shipped(t, former, install.Place{HostingCluster: "cluster1", Namespace: "own"}, install.Values{Image: "image"})
	former.Annotations, former.Finalizers = nil, []string{addonv1beta1.AddonHostingManifestFinalizer}
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		want  []string
	}{
		{"the annotation is gone, and the agent still on the hosting cluster: it must not be deleted there", former, []string{"Hosted", "cluster1"}},
		{"no annotation", hubobjects.AddOn("cluster2", "own"), []string{"Default", ""}},
		{"an annotation without a value is none for OCM's registration agent", silent, []string{"Default", ""}},
		{"the hosting cluster", hubobjects.HostedAddOn("cluster2", "own"), []string{"Hosted", "cluster1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mode, cluster := newTestAddon(t, "image", work).hostedModeInfo(test.addon, hubobjects.Cluster("cluster2"))
			if diff := cmp.Diff(test.want, []string{mode, cluster}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefaultModeWithoutDecoding: the framework asks for the mode several times for each
// add-on that it deploys. For most add-ons the answer needs no ManifestWork.
func TestDefaultModeWithoutDecoding(t *testing.T) {
	addon := hubobjects.AddOn("cluster2", "own")
	work := shipped(t, addon, install.Place{Namespace: "own"}, install.Values{Image: "image"})
	agentAddon := newTestAddon(t, "image", work)
	const runs = 20
	asking := testing.AllocsPerRun(runs, func() { agentAddon.hostedModeInfo(addon, nil) })
	decoding := testing.AllocsPerRun(runs, func() {
		if _, err := agentAddon.shipped(addon); err != nil {
			t.Fatal(err)
		}
	})
	if asking > decoding/10 {
		t.Errorf("the mode allocates %.0f times, and decoding what is shipped %.0f times; at most a tenth is wanted", asking, decoding)
	}
}

// TestWhereHostedObjectsGo asks the framework where each object is applied.
func TestWhereHostedObjectsGo(t *testing.T) {
	addon := hubobjects.HostedAddOn("cluster2", "own")
	objects, err := newTestAddon(t, "image").Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]string{}
	for _, object := range objects {
		accessor := object.(metav1.Object)
		location, _, err := constants.GetHostedManifestLocation(accessor.GetLabels(), accessor.GetAnnotations())
		if err != nil {
			t.Fatal(err)
		}
		places[location] = append(places[location], object.GetObjectKind().GroupVersionKind().Kind)
	}
	want := map[string][]string{
		"":        {"Namespace", "ServiceAccount", "Role", "RoleBinding"},
		"hosting": {"Namespace", "ServiceAccount", "Role", "RoleBinding", "Role", "RoleBinding", "Deployment", "Job"},
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHostedHookIsKeptUntilItIsDone: in hosted mode the framework has a finalizer
// of its own for the hook.
func TestHostedHookIsKeptUntilItIsDone(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name, finalizer string
		want            bool
	}{
		{"the hook is still to be run", addonv1beta1.AddonHostingPreDeleteHookFinalizer, true},
		{"the hook is done", addonv1beta1.AddonHostingManifestFinalizer, false},
		{"that of default mode means nothing here", addonv1beta1.AddonPreDeleteHookFinalizer, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			addon := hubobjects.HostedAddOn("cluster2", "own")
			addon.DeletionTimestamp, addon.Finalizers = &now, []string{test.finalizer}
			addon.Status.Conditions = append(addon.Status.Conditions, metav1.Condition{
				Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionTrue})
			objects, err := newTestAddon(t, "image").Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(objects, hubobjects.IsHook); got != test.want {
				t.Errorf("the hook is among the objects: %t, want %t", got, test.want)
			}
		})
	}
}
