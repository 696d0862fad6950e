package addon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/constants"

	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestHostedModeInfo(t *testing.T) {
	silent := newAddon("cluster2", "own")
	silent.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = ""
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		want  []string
	}{
		{"no annotation", newAddon("cluster2", "own"), []string{"Default", ""}},
		{"an annotation without a value is none for OCM's registration agent", silent, []string{"Default", ""}},
		{"the hosting cluster", newHostedAddon("cluster2", "own"), []string{"Hosted", "cluster1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mode, cluster := newTestAddon(t, "image").hostedModeInfo(test.addon, newCluster("cluster2"))
			if diff := cmp.Diff(test.want, []string{mode, cluster}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHostedNamespace: OCM fixes the names of secret and lease, so that no two
// agents can share a namespace of the hosting cluster.
func TestHostedNamespace(t *testing.T) {
	for _, test := range []struct{ name, namespace, err string }{
		{"one of its own", "klusterlet-cluster2", ""},
		{"none: OCM's default is the hosting cluster's own agent's", "", `such as "klusterlet-cluster2"`},
		{"OCM's default by name", manifests.DefaultInstallNamespace, "cannot be used in hosted mode"},
		{"default", "default", "cannot be used in hosted mode"},
		{"Kubernetes' own", "kube-system", "cannot be used in hosted mode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := WantedPlace(newHostedAddon("cluster2", test.namespace), nil)
			checkError(t, err, test.err)
		})
	}
}

// TestWhereHostedObjectsGo asks the framework where each object is applied.
func TestWhereHostedObjectsGo(t *testing.T) {
	addon := newHostedAddon("cluster2", "own")
	objects, err := newTestAddon(t, "image").Manifests(t.Context(), newCluster("cluster2"), addon)
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

// TestHostedRightsAreSplit: nothing of the hosting cluster's is given on the
// managed one, and no ConfigMap on the hosting one.
func TestHostedRightsAreSplit(t *testing.T) {
	values, err := NewValues(newHostedAddon("cluster2", "own"), Place{"cluster1", "own"}, nil, "image")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, object := range objects {
		role, ok := object.(*rbacv1.Role)
		if !ok {
			continue
		}
		place := role.Annotations[addonv1beta1.HostedManifestLocationAnnotationKey]
		for _, rule := range role.Rules {
			got[place] = append(got[place], rule.Resources...)
		}
	}
	for _, resources := range got {
		slices.Sort(resources)
	}
	want := map[string][]string{"": {"configmaps", "serviceaccounts"}, "hosting": {"events", "leases", "leases", "secrets"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostedHook(t *testing.T) {
	values, err := NewValues(newHostedAddon("cluster2", "own"), Place{"cluster1", "own"}, nil, "image")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := RenderHook(values)
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "hook-hosted.yaml", toYAML(t, []runtime.Object{hook}))
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
			addon := newHostedAddon("cluster2", "own")
			addon.DeletionTimestamp, addon.Finalizers = &now, []string{test.finalizer}
			addon.Status.Conditions = append(addon.Status.Conditions, metav1.Condition{
				Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionTrue})
			objects, err := newTestAddon(t, "image").Manifests(t.Context(), newCluster("cluster2"), addon)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(objects, isJob); got != test.want {
				t.Errorf("the hook is among the objects: %t, want %t", got, test.want)
			}
		})
	}
}

func isJob(object runtime.Object) bool {
	job, ok := object.(*batchv1.Job)
	return ok && strings.HasPrefix(job.Name, manifests.UninstallJob)
}
