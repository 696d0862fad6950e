package addon

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

// TestShippedStays: an agent that OCM's rollout has not reached, or that is being
// deleted, stays as it is shipped (docs/design.md#rollout).
func TestShippedStays(t *testing.T) {
	config := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) { spec.AgentInstallNamespace = "there" })
	here := install.Place{Namespace: "here"}
	unconfigured := func(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ManagedClusterAddOn {
		addon.Status.Conditions = addon.Status.Conditions[1:]
		return addon
	}
	tests := []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		err   string
	}{
		{name: "the edited config is not rolled out to this cluster yet", addon: hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), "former")},
		{name: "OCM has the cluster wait for its turn", addon: unconfigured(hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), "former"))},
		{name: "a config that no user of the hub names", addon: elsewhere(hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), "hash"))},
		{name: "being deleted, OCM has dropped the config",
			addon: hubobjects.Deleting(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), addonv1beta1.AddonPreDeleteHookFinalizer)},
		{name: "a move while there are copies", addon: hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), hashOf(t, config)), err: "would move"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			work := shipped(t, test.addon, here, install.Values{Image: "registry.example.com/old:v1", ImagePullSecret: "pull"})
			agentAddon := newTestAddon(t, "registry.example.com/new:v2", naming(), config, work)
			objects, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster2"), test.addon)
			hubobjects.CheckError(t, err, test.err)
			if test.err != "" {
				return
			}
			again := hubobjects.Ship(t, test.addon, "cluster2", objects)
			if diff := cmp.Diff(contentOf(t, work), contentOf(t, again)); diff != "" {
				t.Errorf("the work changes (-before +after):\n%s", diff)
			}
			hook := hookOf(t, objects)
			if hook.Namespace != "here" || hook.Spec.Template.Spec.Containers[0].Image != "registry.example.com/old:v1" {
				t.Errorf("the hook is %s in %s", hook.Spec.Template.Spec.Containers[0].Image, hook.Namespace)
			}
			namespace, err := agentAddon.installNamespace(t.Context(), test.addon)
			if err != nil || namespace != "here" {
				t.Errorf("the install namespace is %q, error %v, want here", namespace, err)
			}
		})
	}
}

// elsewhere makes the status refer to a config that neither the add-on nor the
// ClusterManagementAddOn names.
func elsewhere(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.ConfigReferences[0].DesiredConfig.Namespace = "tenant"
	return addon
}

// contentOf returns the objects in a work.
func contentOf(t *testing.T, work *workv1.ManifestWork) []map[string]any {
	t.Helper()
	var content []map[string]any
	for _, manifest := range work.Spec.Workload.Manifests {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(manifest.Raw); err != nil {
			t.Fatal(err)
		}
		content = append(content, object.Object)
	}
	return content
}

// TestHostedStays: an agent in hosted mode stays as it is shipped on both clusters.
func TestHostedStays(t *testing.T) {
	addon := hubobjects.Refer(hubobjects.Reported(hubobjects.HostedAddOn("cluster2", "agents")), "former")
	place := install.Place{HostingCluster: "cluster1", Namespace: "agents"}
	both := shipped(t, addon, place, install.Values{Image: "image:old"})
	hosting, managed := split(t, both)
	objects, err := newTestAddon(t, "image:new", naming(), hubobjects.Config(unchanged), hosting, managed).Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
	if err != nil {
		t.Fatal(err)
	}
	again, managedAgain := split(t, hubobjects.Ship(t, addon, "cluster1", objects))
	if diff := cmp.Diff(contentOf(t, hosting), contentOf(t, again)); diff != "" {
		t.Errorf("the hosting cluster's work changes (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(contentOf(t, managed), contentOf(t, managedAgain)); diff != "" {
		t.Errorf("the managed cluster's work changes (-before +after):\n%s", diff)
	}
}

// split divides the objects of hosted mode into the work of the hosting cluster,
// cluster1, and that of the managed one, as addon-framework does.
func split(t *testing.T, both *workv1.ManifestWork) (hosting, managed *workv1.ManifestWork) {
	t.Helper()
	hosting, managed = both.DeepCopy(), both.DeepCopy()
	managed.Name, managed.Namespace = "addon-helloworld-deploy-0", "cluster2"
	delete(managed.Labels, addonv1beta1.AddonNamespaceLabelKey)
	hosting.Spec.Workload.Manifests, managed.Spec.Workload.Manifests = nil, nil
	for i, content := range contentOf(t, both) {
		work := managed
		if install.IsOnHosting(&unstructured.Unstructured{Object: content}) {
			work = hosting
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, both.Spec.Workload.Manifests[i])
	}
	if len(hosting.Spec.Workload.Manifests) == 0 || len(managed.Spec.Workload.Manifests) == 0 {
		t.Fatal("one of the clusters gets nothing")
	}
	return hosting, managed
}

// TestNothingReachesAnotherCluster: a managed cluster can change the ManifestWorks in its
// own namespace of the hub, labels included. By that it must neither get an object onto
// another cluster, nor change what another cluster gets.
func TestNothingReachesAnotherCluster(t *testing.T) {
	const roleBinding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"planted"%s}}`
	const hosting = `,"annotations":{"addon.open-cluster-management.io/hosted-manifest-location":"hosting"}`
	here := install.Place{Namespace: "here"}
	victim := func() *addonv1beta1.ManagedClusterAddOn {
		return hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "here")), "former")
	}
	hostedVictim := func() *addonv1beta1.ManagedClusterAddOn {
		addon := hubobjects.Refer(hubobjects.Reported(hubobjects.HostedAddOn("cluster2", "agents")), "former")
		addon.Finalizers = []string{addonv1beta1.AddonHostingManifestFinalizer}
		return addon
	}
	plant := func(work *workv1.ManifestWork, annotations string) *workv1.ManifestWork {
		work = work.DeepCopy()
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests,
			workv1.Manifest{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil, roleBinding, annotations)}})
		return work
	}
	onMallory := func(addon *addonv1beta1.ManagedClusterAddOn) *workv1.ManifestWork {
		return plant(shipped(t, addon, install.Place{HostingCluster: "mallory", Namespace: "here"}, install.Values{Image: "image"}), "")
	}
	own := shipped(t, victim(), here, install.Values{Image: "image"})
	hostingWork, managedWork := split(t, shipped(t, hostedVictim(), install.Place{HostingCluster: "cluster1", Namespace: "agents"}, install.Values{Image: "image"}))
	tests := []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works []runtime.Object
		mode  string
		host  string
	}{
		{"a cluster that does not host it, while a config is pending", victim(), []runtime.Object{own, onMallory(victim())}, "Default", ""},
		{"while it is being deleted", hubobjects.Deleting(victim(), addonv1beta1.AddonPreDeleteHookFinalizer),
			[]runtime.Object{own, onMallory(victim())}, "Default", ""},
		{"the hosting cluster onto the managed one", hostedVictim(), []runtime.Object{plant(hostingWork, ""), managedWork}, "Hosted", "cluster1"},
		{"the managed cluster onto the hosting one", hostedVictim(), []runtime.Object{hostingWork, plant(managedWork, hosting)}, "Hosted", "cluster1"},
		{"a third one beside the hosting cluster", hostedVictim(), []runtime.Object{onMallory(victim()), hostingWork, managedWork}, "Hosted", "cluster1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			agentAddon := newTestAddon(t, "image", append([]runtime.Object{naming(), hubobjects.Config(unchanged)}, test.works...)...)
			objects, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster2"), test.addon)
			if err != nil {
				t.Fatal(err)
			}
			if len(objects) < 2 {
				t.Fatalf("the add-on is not shipped: %d objects", len(objects))
			}
			for _, object := range objects {
				if object.GetObjectKind().GroupVersionKind().Kind == "ClusterRoleBinding" {
					t.Error("the planted object is shipped")
				}
			}
			if mode, host := agentAddon.hostedModeInfo(test.addon, nil); mode != test.mode || host != test.host {
				t.Errorf("the mode is %s %q, want %s %q", mode, host, test.mode, test.host)
			}
		})
	}

	t.Run("an add-on without an agent is not held up", func(t *testing.T) {
		addon := hubobjects.AddOn("cluster2", "here")
		objects, err := newTestAddon(t, "image", onMallory(addon)).Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
		if err != nil || len(objects) < 2 {
			t.Errorf("got %d objects, error %v", len(objects), err)
		}
	})
}

func unchanged(*addonv1beta1.AddOnDeploymentConfigSpec) {}
