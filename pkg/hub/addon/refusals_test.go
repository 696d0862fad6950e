package addon

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

// TestTwoHostedAgentsNeverShareANamespace: on one hosting cluster they would use each
// other's Secret, and write one cluster's ConfigMaps into another.
func TestTwoHostedAgentsNeverShareANamespace(t *testing.T) {
	first, second := hubobjects.HostedAddOn("cluster2", "agents"), hubobjects.HostedAddOn("cluster3", "agents")
	work := shipped(t, first, install.Place{HostingCluster: "cluster1", Namespace: "agents"}, install.Values{Image: "image"})
	agentAddon := newTestAddon(t, "image", work)
	_, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster3"), second)
	hubobjects.CheckError(t, err, "that of ManagedClusterAddOn cluster2/helloworld")
	if _, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster2"), first); err != nil {
		t.Errorf("the one that was there first is refused: %v", err)
	}

	both := newTestAddon(t, "image", work, shipped(t, second, install.Place{HostingCluster: "cluster1", Namespace: "agents"}, install.Values{Image: "image"}))
	for cluster, addon := range map[string]*addonv1beta1.ManagedClusterAddOn{"cluster2": first, "cluster3": second} {
		if objects, err := both.Manifests(t.Context(), hubobjects.Cluster(cluster), addon); err != nil || len(objects) == 0 {
			t.Errorf("%s: an agent that shared a namespace before is taken away: %d objects, error %v", cluster, len(objects), err)
		}
		hubobjects.CheckError(t, both.Inspect(addon).Refused, "two agents in one namespace would share their secret and lease")
	}
}

// TestOwnNamespaceIsRefused: nothing is shipped into a namespace with the cluster's
// own name (docs/design.md#rule-8-own-namespace). An agent that an earlier version
// shipped there is neither changed nor uninstalled, and can be disabled.
func TestOwnNamespaceIsRefused(t *testing.T) {
	const refused = `name another namespace, such as "open-cluster-management-agent-addon"`
	// Hosted mode refuses OCM's default, too.
	const refusedHosted = `name another namespace, such as "klusterlet-cluster2"`
	own := install.Place{Namespace: "cluster1"}
	running := shipped(t, hubobjects.AddOn("cluster1", "cluster1"), own, install.Values{Image: "image"})
	hostedAddOn := hubobjects.AddOn("cluster2", "cluster2")
	hostedAddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "cluster1"
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works []runtime.Object
		want  string
	}{
		{"nothing runs", hubobjects.AddOn("cluster1", "cluster1"), nil, refused},
		{"an agent of an earlier version runs there", hubobjects.Reported(hubobjects.AddOn("cluster1", "cluster1")), []runtime.Object{running}, refused},
		{"hosted mode", hostedAddOn, nil, refusedHosted},
	} {
		t.Run(test.name, func(t *testing.T) {
			agentAddon, cluster := newTestAddon(t, "image", test.works...), hubobjects.Cluster(test.addon.Namespace)
			// The framework leaves the ManifestWorks alone after an error; an empty
			// list without one would uninstall the agent.
			objects, err := agentAddon.Manifests(t.Context(), cluster, test.addon)
			hubobjects.CheckError(t, err, test.want)
			if len(objects) > 0 {
				t.Errorf("%d objects are shipped", len(objects))
			}
			hubobjects.CheckError(t, agentAddon.Inspect(test.addon).Refused, test.want)
			hubobjects.CheckError(t, agentAddon.GetAgentAddonOptions().Registration.PermissionConfig(t.Context(), cluster, test.addon), test.want)
		})
	}

	disabled := hubobjects.Deleting(hubobjects.Reported(hubobjects.AddOn("cluster1", "cluster1")), addonv1beta1.AddonPreDeleteHookFinalizer)
	objects, err := newTestAddon(t, "image", running).Manifests(t.Context(), hubobjects.Cluster("cluster1"), disabled)
	if err != nil {
		t.Fatal(err)
	}
	if hook := hookOf(t, objects); hook.Namespace != "cluster1" {
		t.Errorf("the pre-delete hook runs in %q, want cluster1, where the agent is", hook.Namespace)
	}
}

// TestUnreadConfig: a config whose hash OCM's add-on manager has not set yet is pending. It
// is refused when it does not exist.
func TestUnreadConfig(t *testing.T) {
	addOn := hubobjects.Refer(hubobjects.AddOn("cluster2", ""), "")
	config := hubobjects.Config(func(*addonv1beta1.AddOnDeploymentConfigSpec) {})
	if got := newTestAddon(t, "image", naming(), config).Inspect(addOn); got.Pending == "" || got.Refused != nil {
		t.Errorf("an unread config: got %+v, want it to be pending", got)
	}
	got := newTestAddon(t, "image", naming()).Inspect(addOn)
	hubobjects.CheckError(t, got.Refused, "does not exist: create it")
}

// TestLeftoverFinalizers: the framework removes the finalizers of hosted mode in
// hosted mode alone.
func TestLeftoverFinalizers(t *testing.T) {
	const own, left = addonv1beta1.AddonPreDeleteHookFinalizer, addonv1beta1.AddonHostingPreDeleteHookFinalizer
	here := install.Place{Namespace: "here"}
	enabled := hubobjects.AddOn("cluster2", "here")
	enabled.Finalizers = []string{own, left}
	bare := hubobjects.AddOn("cluster2", "here")
	bare.Finalizers = []string{left}
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works []*workv1.ManifestWork
		want  string
	}{
		{"nothing is shipped", bare, nil, "Hosted"},
		{"an agent of default mode runs", enabled, []*workv1.ManifestWork{shipped(t, enabled, here, install.Values{Image: "image"})}, "Default"},
		{"it is being uninstalled", hubobjects.Deleting(hubobjects.AddOn("cluster2", "here"), own, left), []*workv1.ManifestWork{shipped(t, enabled, here, install.Values{Image: "image"})}, "Default"},
		{"it is uninstalled: only the leftover keeps the add-on", hubobjects.Deleting(hubobjects.AddOn("cluster2", "here"), left),
			[]*workv1.ManifestWork{shipped(t, enabled, here, install.Values{Image: "image"})}, "Hosted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var hub []runtime.Object
			for _, work := range test.works {
				hub = append(hub, work)
			}
			mode, host := newTestAddon(t, "image", hub...).hostedModeInfo(test.addon, hubobjects.Cluster("cluster2"))
			if mode != test.want || host != "" {
				t.Errorf("got %s %q, want %s", mode, host, test.want)
			}
		})
	}
}
