package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// reported makes the add-on one whose agent has reported, so that it may have
// copies.
func reported(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.Conditions = append(addon.Status.Conditions, metav1.Condition{
		Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionTrue, Reason: "Synced"})
	return addon
}

func deleting(addon *addonv1beta1.ManagedClusterAddOn, finalizers ...string) *addonv1beta1.ManagedClusterAddOn {
	now := metav1.Now()
	addon.DeletionTimestamp, addon.Finalizers = &now, finalizers
	return addon
}

func TestSettlePlace(t *testing.T) {
	here, there := Place{Namespace: "here"}, Place{Namespace: "there"}
	onOne, onTwo := Place{"cluster1", "here"}, Place{"cluster9", "here"}
	tests := []struct {
		name    string
		addon   *addonv1beta1.ManagedClusterAddOn
		shipped *Place
		want    Place
		err     string
	}{
		{name: "nothing shipped: as wanted", addon: newAddon("cluster2", "there"), want: there},
		{name: "shipped as wanted", addon: reported(newAddon("cluster2", "here")), shipped: &here, want: here},
		{name: "an agent that never reported has no copies: it moves", addon: newAddon("cluster2", "there"), shipped: &here, want: there},
		{name: "a move would leave the copies behind", addon: reported(newAddon("cluster2", "there")), shipped: &here, want: here,
			err: `would move from "here" to "there" (from spec.installNamespace`},
		{name: "a move, the ManifestWork deleted by hand", addon: installed(reported(newAddon("cluster2", "there")), "here"), want: here,
			err: `would move from "here" to "there" (from spec.installNamespace`},
		{name: "a move before the agent ever reported, nothing shipped", addon: installed(newAddon("cluster2", "there"), "here"), want: there},
		{name: "being deleted, its config gone from the status: the hook runs where the copies are",
			addon: deleting(reported(newAddon("cluster2", "there"))), shipped: &here, want: here},
		{name: "hosted mode taken back", addon: newAddon("cluster2", "here"), shipped: &onOne, want: onOne,
			err: "now names no hosting cluster, but the agent runs on hosting cluster cluster1: set it back, or disable"},
		{name: "another hosting cluster", addon: newHostedAddon("cluster2", "here"), shipped: &onTwo, want: onTwo,
			err: "now names hosting cluster cluster1, but the agent runs on hosting cluster cluster9"},
		{name: "hosted mode for an agent on its own cluster", addon: newHostedAddon("cluster2", "here"), shipped: &here, want: here,
			err: "kubectl delete managedclusteraddon -n cluster2 helloworld"},
		{name: "hosted mode taken back, and deleted: the hook runs where the agent is",
			addon: deleting(newAddon("cluster2", "here")), shipped: &onOne, want: onOne},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var shipped *Shipped
			if test.shipped != nil {
				shipped = &Shipped{Place: *test.shipped}
			}
			got, err := settlePlace(test.addon, nil, shipped)
			checkError(t, err, test.err)
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// installed makes the add-on one that OCM has been told to install in the namespace.
func installed(addon *addonv1beta1.ManagedClusterAddOn, namespace string) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.Namespace = namespace
	return addon
}

func TestCheckNeighbours(t *testing.T) {
	place := Place{"cluster1", "agents"}
	for _, test := range []struct {
		name       string
		neighbours []neighbour
		err        string
	}{
		{"nobody", nil, ""},
		{"its own agent", []neighbour{{"cluster2", "agents"}}, ""},
		{"another cluster's in another namespace", []neighbour{{"cluster3", "others"}}, ""},
		{"another cluster's in this namespace", []neighbour{{"cluster3", "agents"}},
			`install namespace "agents" of ManagedClusterAddOn cluster2/helloworld on cluster cluster1 is that of ManagedClusterAddOn cluster3/helloworld`},
		{"the hosting cluster's own", []neighbour{{"cluster1", "agents"}}, "that of ManagedClusterAddOn cluster1/helloworld"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkError(t, checkNeighbours(newHostedAddon("cluster2", "agents"), place, test.neighbours), test.err)
		})
	}
}

// TestTwoHostedAgentsNeverShareANamespace: on one hosting cluster they would take
// each other's secret, and one cluster's ConfigMaps would be written into another.
func TestTwoHostedAgentsNeverShareANamespace(t *testing.T) {
	first, second := newHostedAddon("cluster2", "agents"), newHostedAddon("cluster3", "agents")
	work := shipped(t, first, Place{"cluster1", "agents"}, Values{Image: "image"})
	agentAddon := newTestAddon(t, "image", work)
	_, err := agentAddon.Manifests(t.Context(), newCluster("cluster3"), second)
	checkError(t, err, "that of ManagedClusterAddOn cluster2/helloworld")
	if _, err := agentAddon.Manifests(t.Context(), newCluster("cluster2"), first); err != nil {
		t.Errorf("the one that was there first is refused: %v", err)
	}

	both := newTestAddon(t, "image", work, shipped(t, second, Place{"cluster1", "agents"}, Values{Image: "image"}))
	for cluster, addon := range map[string]*addonv1beta1.ManagedClusterAddOn{"cluster2": first, "cluster3": second} {
		if objects, err := both.Manifests(t.Context(), newCluster(cluster), addon); err != nil || len(objects) == 0 {
			t.Errorf("%s: an agent that shared a namespace before is taken away: %d objects, error %v", cluster, len(objects), err)
		}
		checkError(t, both.Inspect(addon).Refused, "two agents in one namespace would share their secret and lease")
	}
}

// TestOwnNamespaceIsRefused: nothing is shipped into a namespace with the cluster's
// own name (docs/design.md#rule-8-own-namespace). An agent that an earlier version
// shipped there is neither changed nor uninstalled, and can be disabled.
func TestOwnNamespaceIsRefused(t *testing.T) {
	const refused = `name another namespace, such as "open-cluster-management-agent-addon"`
	own := Place{Namespace: "cluster1"}
	running := shipped(t, newAddon("cluster1", "cluster1"), own, Values{Image: "image"})
	hostedAddOn := newAddon("cluster2", "cluster2")
	hostedAddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "cluster1"
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works []runtime.Object
	}{
		{"nothing runs", newAddon("cluster1", "cluster1"), nil},
		{"an agent of an earlier version runs there", reported(newAddon("cluster1", "cluster1")), []runtime.Object{running}},
		{"hosted mode", hostedAddOn, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			agentAddon, cluster := newTestAddon(t, "image", test.works...), newCluster(test.addon.Namespace)
			// The framework leaves the ManifestWorks alone after an error; an empty
			// list without one would uninstall the agent.
			objects, err := agentAddon.Manifests(t.Context(), cluster, test.addon)
			checkError(t, err, refused)
			if len(objects) > 0 {
				t.Errorf("%d objects are shipped", len(objects))
			}
			checkError(t, agentAddon.Inspect(test.addon).Refused, refused)
			checkError(t, agentAddon.GetAgentAddonOptions().Registration.PermissionConfig(t.Context(), cluster, test.addon), refused)
		})
	}

	disabled := deleting(reported(newAddon("cluster1", "cluster1")), addonv1beta1.AddonPreDeleteHookFinalizer)
	objects, err := newTestAddon(t, "image", running).Manifests(t.Context(), newCluster("cluster1"), disabled)
	if err != nil {
		t.Fatal(err)
	}
	if hook := hookOf(t, objects); hook.Namespace != "cluster1" {
		t.Errorf("the pre-delete hook runs in %q, want cluster1, where the agent is", hook.Namespace)
	}
}

// TestHookOfWhatIsShipped: the hook of an add-on whose config has gone is the same
// Job, by name, as before: another name would end the first one and begin again.
func TestHookOfWhatIsShipped(t *testing.T) {
	addon := newAddon("cluster2", "")
	full := Values{
		Image: "image:1", NodeSelector: map[string]string{"infra": ""}, Tolerations: []corev1.Toleration{infraToleration},
		ProxyEnv:          []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:1"}, {Name: "NO_PROXY", Value: ".svc"}},
		Resources:         &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		PriorityClassName: "urgent", ImagePullSecret: "pull", LogVerbosity: "4", ConfigHash: "hash",
	}
	for name, values := range map[string]Values{"nothing configured": {Image: "image:1"}, "everything configured": full} {
		for _, place := range []Place{{Namespace: "here"}, {"cluster1", "here"}} {
			t.Run(name+" "+place.HostingCluster, func(t *testing.T) {
				work := shipped(t, addon, place, values)
				found, err := NewShipped(addon, workList{work})
				if err != nil {
					t.Fatal(err)
				}
				values.ClusterName, values.AddOnUID = addon.Namespace, addon.UID
				values.InstallNamespace, values.Hosted = place.Namespace, place.HostingCluster != ""
				want, err := RenderHook(values)
				if err != nil {
					t.Fatal(err)
				}
				got, err := RenderHook(found.values(addon))
				if err != nil {
					t.Fatal(err)
				}
				if got.Name != want.Name {
					t.Errorf("the hook is another Job (-configured +shipped):\n%s", cmp.Diff(want, got))
				}
			})
		}
	}
}

// TestLeftoverFinalizers: the framework removes the finalizers of hosted mode in
// hosted mode alone.
func TestLeftoverFinalizers(t *testing.T) {
	const own, left = addonv1beta1.AddonPreDeleteHookFinalizer, addonv1beta1.AddonHostingPreDeleteHookFinalizer
	here := Place{Namespace: "here"}
	enabled := newAddon("cluster2", "here")
	enabled.Finalizers = []string{own, left}
	bare := newAddon("cluster2", "here")
	bare.Finalizers = []string{left}
	for _, test := range []struct {
		name  string
		addon *addonv1beta1.ManagedClusterAddOn
		works workList
		want  string
	}{
		{"nothing is shipped", bare, nil, "Hosted"},
		{"an agent of default mode runs", enabled, workList{shipped(t, enabled, here, Values{Image: "image"})}, "Default"},
		{"it is being uninstalled", deleting(newAddon("cluster2", "here"), own, left), workList{shipped(t, enabled, here, Values{Image: "image"})}, "Default"},
		{"it is uninstalled: only the leftover keeps the add-on", deleting(newAddon("cluster2", "here"), left),
			workList{shipped(t, enabled, here, Values{Image: "image"})}, "Hosted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var hub []runtime.Object
			for _, work := range test.works {
				hub = append(hub, work)
			}
			mode, host := newTestAddon(t, "image", hub...).hostedModeInfo(test.addon, newCluster("cluster2"))
			if mode != test.want || host != "" {
				t.Errorf("got %s %q, want %s", mode, host, test.want)
			}
		})
	}
}
