package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestSettlePlace covers docs/design.md#rollout: a place does not move while there are
// copies.
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
		{name: "nothing shipped: as wanted", addon: hubobjects.AddOn("cluster2", "there"), want: there},
		{name: "shipped as wanted", addon: hubobjects.Reported(hubobjects.AddOn("cluster2", "here")), shipped: &here, want: here},
		{name: "an agent that never reported has no copies: it moves", addon: hubobjects.AddOn("cluster2", "there"), shipped: &here, want: there},
		{name: "a move would leave the copies behind", addon: hubobjects.Reported(hubobjects.AddOn("cluster2", "there")), shipped: &here, want: here,
			err: `would move from "here" to "there" (from spec.installNamespace`},
		{name: "a move, the ManifestWork deleted by hand", addon: installed(hubobjects.Reported(hubobjects.AddOn("cluster2", "there")), "here"), want: here,
			err: `would move from "here" to "there" (from spec.installNamespace`},
		{name: "a move before the agent ever reported, nothing shipped", addon: installed(hubobjects.AddOn("cluster2", "there"), "here"), want: there},
		{name: "being deleted, its config gone from the status: the hook runs where the copies are",
			addon: hubobjects.Deleting(hubobjects.Reported(hubobjects.AddOn("cluster2", "there"))), shipped: &here, want: here},
		{name: "hosted mode taken back", addon: hubobjects.AddOn("cluster2", "here"), shipped: &onOne, want: onOne,
			err: "now names no hosting cluster, but the agent runs on hosting cluster cluster1: set it back, or disable"},
		{name: "another hosting cluster", addon: hubobjects.HostedAddOn("cluster2", "here"), shipped: &onTwo, want: onTwo,
			err: "now names hosting cluster cluster1, but the agent runs on hosting cluster cluster9"},
		{name: "hosted mode for an agent on its own cluster", addon: hubobjects.HostedAddOn("cluster2", "here"), shipped: &here, want: here,
			err: "kubectl delete managedclusteraddon -n cluster2 helloworld"},
		{name: "hosted mode taken back, and deleted: the hook runs where the agent is",
			addon: hubobjects.Deleting(hubobjects.AddOn("cluster2", "here")), shipped: &onOne, want: onOne},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var shipped *Shipped
			if test.shipped != nil {
				shipped = &Shipped{Place: *test.shipped}
			}
			got, err := SettlePlace(test.addon, nil, shipped)
			hubobjects.CheckError(t, err, test.err)
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// installed sets the namespace in the add-on's status.
func installed(addon *addonv1beta1.ManagedClusterAddOn, namespace string) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.Namespace = namespace
	return addon
}

func TestCheckNeighbours(t *testing.T) {
	place := Place{"cluster1", "agents"}
	for _, test := range []struct {
		name       string
		neighbours []Neighbour
		err        string
	}{
		{"none", nil, ""},
		{"another cluster's in another namespace", []Neighbour{{"cluster3", "others"}}, ""},
		{"another cluster's in this namespace", []Neighbour{{"cluster3", "agents"}},
			`install namespace "agents" of ManagedClusterAddOn cluster2/helloworld on cluster cluster1 is that of ManagedClusterAddOn cluster3/helloworld`},
		{"the hosting cluster's own", []Neighbour{{"cluster1", "agents"}}, "that of ManagedClusterAddOn cluster1/helloworld"},
	} {
		t.Run(test.name, func(t *testing.T) {
			hubobjects.CheckError(t, CheckNeighbours(hubobjects.HostedAddOn("cluster2", "agents"), place, test.neighbours), test.err)
		})
	}
}

// TestHookOfWhatIsShipped: the hook of an add-on whose config is gone from its status
// keeps its name (docs/design.md#uninstall): with another name the framework would
// delete the first Job and start again.
func TestHookOfWhatIsShipped(t *testing.T) {
	addon := hubobjects.AddOn("cluster2", "")
	full := Values{
		Image: "image:1", NodeSelector: map[string]string{"infra": ""}, Tolerations: []corev1.Toleration{hubobjects.InfraToleration()},
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
				got, err := RenderHook(found.Values(addon))
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

// TestHostedNamespace: OCM fixes the names of secret and lease, so that no two
// agents can share a namespace of the hosting cluster.
func TestHostedNamespace(t *testing.T) {
	for _, test := range []struct{ name, namespace, err string }{
		{"one of its own", "klusterlet-cluster2", ""},
		{"none: OCM's default is the hosting cluster's own agent's", "", `such as "klusterlet-cluster2"`},
		{"OCM's default by name", manifests.DefaultInstallNamespace, "cannot be used in hosted mode"},
		{"default", "default", "cannot be used in hosted mode"},
		{"Kubernetes' own", "kube-system", "cannot be used in hosted mode"},
		{"OpenShift's: the advice is a namespace that hosted mode accepts", "openshift-agents", `such as "klusterlet-cluster2"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := WantedPlace(hubobjects.HostedAddOn("cluster2", test.namespace), nil)
			hubobjects.CheckError(t, err, test.err)
		})
	}
}

func TestNeighboursIn(t *testing.T) {
	addon := hubobjects.HostedAddOn("cluster2", "agents")
	broken := shipped(t, addon, Place{"cluster1", "agents"}, Values{Image: "image"})
	broken.Spec.Workload.Manifests[0].Raw = []byte("{")
	going := hubobjects.Deleting(hubobjects.HostedAddOn("cluster4", "agents"))
	goingWork := shipped(t, going, Place{"cluster1", "agents"}, Values{Image: "image"})
	goingWork.DeletionTimestamp = going.DeletionTimestamp
	works := workList{
		broken, // the add-on's own, which is not decoded
		goingWork,
		shipped(t, hubobjects.AddOn("cluster1", "here"), Place{Namespace: "here"}, Values{Image: "image"}),
		shipped(t, hubobjects.HostedAddOn("cluster3", "agents"), Place{"cluster1", "agents"}, Values{Image: "image"}),
	}
	got, err := NeighboursIn(addon, works)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Neighbour{{"cluster1", "here"}, {"cluster3", "agents"}}, got); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
}
