package addon

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

// TestWhichObjectsWhen: the hook is part of the objects as long as the framework can run
// it, with any state of the configuration (docs/design.md#uninstall).
func TestWhichObjectsWhen(t *testing.T) {
	reference := func(addon *addonv1beta1.ManagedClusterAddOn) { hubobjects.Refer(addon, "hash") }
	deleting := func(finalizers ...string) func(*addonv1beta1.ManagedClusterAddOn) {
		return func(addon *addonv1beta1.ManagedClusterAddOn) {
			now := metav1.Now()
			addon.DeletionTimestamp, addon.Finalizers = &now, finalizers
		}
	}
	unconfigured := func(addon *addonv1beta1.ManagedClusterAddOn) { addon.Status.Conditions = nil }
	reported := func(addon *addonv1beta1.ManagedClusterAddOn) {
		addon.Status.Conditions = append(addon.Status.Conditions, metav1.Condition{
			Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionFalse})
	}
	done := func(addon *addonv1beta1.ManagedClusterAddOn) {
		addon.Status.Conditions[len(addon.Status.Conditions)-1].Reason = manifests.ReasonUninstalled
	}
	type changes = []func(*addonv1beta1.ManagedClusterAddOn)
	installed := func(addon *addonv1beta1.ManagedClusterAddOn) { addon.Status.Namespace = "there" }
	hook := deleting(addonv1beta1.AddonPreDeleteHookFinalizer)
	all := "ServiceAccount Role RoleBinding Role RoleBinding Deployment Job"
	tests := []struct {
		name    string
		changes []func(*addonv1beta1.ManagedClusterAddOn)
		want    string
		err     string
	}{
		{name: "enabled", want: all},
		{name: "configs not settled yet", changes: changes{unconfigured}, err: "has not settled"},
		{name: "being deleted, its ManifestWork deleted by hand", changes: changes{hook, installed, reported}, want: "Job"},
		{name: "being deleted, hook done", changes: changes{deleting("other"), reported}},
		{name: "being deleted, no agent ever reported", changes: changes{hook}},
		{name: "being deleted, no agent ever reported, config deleted before", changes: changes{hook, reference}},
		{name: "being deleted, never configured", changes: changes{deleting(), unconfigured}},
		{name: "being deleted, config deleted before", changes: changes{hook, reference, installed, reported}, want: "Job"},
		{name: "being deleted, the hook has reported that every copy is gone", changes: changes{hook, reported, done}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addon := hubobjects.AddOn("cluster1", "default")
			for _, change := range test.changes {
				change(addon)
			}
			agentAddon := newTestAddon(t, "image", naming())
			objects, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster1"), addon)
			hubobjects.CheckError(t, err, test.err)
			var kinds []string
			for _, object := range objects {
				kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
			}
			if got := strings.Join(kinds, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want == "Job" {
				job := objects[0].(*batchv1.Job)
				if job.Namespace != "there" || !slices.Contains(job.Spec.Template.Spec.Containers[0].Args, "--namespace=there") {
					t.Errorf("the hook is not run where the agent was installed: %v", job)
				}
			}
		})
	}
}

// TestHookOfAConfigOfAnotherHash: an agent whose image cannot be pulled can be deleted
// once the config names another image, though OCM no longer rolls out configs. The hook
// of an agent that runs has the agent's image, and no cluster gets the content of
// another placement's config.
func TestHookOfAConfigOfAnotherHash(t *testing.T) {
	config := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{hubobjects.Variable(install.VariableAgentImage, "mirror.example/agent:present")}
	})
	ofPlacement := naming()
	ofPlacement.Spec.InstallStrategy.Placements = []addonv1beta1.PlacementStrategy{{Configs: ofPlacement.Spec.DefaultConfigs}}
	ofPlacement.Spec.DefaultConfigs = nil
	for _, test := range []struct {
		name       string
		management *addonv1beta1.ClusterManagementAddOn
		applied    string
		want       string
	}{
		{"never rolled out: it can be mended", naming(), "", "mirror.example/agent:present"},
		{"rolled out with an earlier config: it can be mended", naming(), "earlier", "mirror.example/agent:present"},
		{"rolled out: the present config may be a broken one that has not reached the cluster", naming(), "former", "mirror.example/agent:shipped"},
		{"a placement's config", ofPlacement, "", "mirror.example/agent:shipped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			addon := hubobjects.Deleting(hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), "former"), addonv1beta1.AddonPreDeleteHookFinalizer)
			if test.applied != "" {
				addon.Status.ConfigReferences[0].LastAppliedConfig = &addonv1beta1.ConfigSpecHash{SpecHash: test.applied}
			}
			work := shipped(t, addon, install.Place{Namespace: "here"}, install.Values{Image: "mirror.example/agent:shipped", ConfigHash: "former"})
			objects, err := newTestAddon(t, "image", test.management, config, work).Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
			if err != nil {
				t.Fatal(err)
			}
			hook := hookOf(t, objects)
			if got := hook.Spec.Template.Spec.Containers[0].Image; hook.Namespace != "here" || got != test.want {
				t.Errorf("the hook is %s in %s, want %s", got, hook.Namespace, test.want)
			}
		})
	}
}

// TestHookOfAWorkThatIsGone: the hook runs where the copies are, with the config's
// image, even where a new agent would be refused.
func TestHookOfAWorkThatIsGone(t *testing.T) {
	config := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{hubobjects.Variable(install.VariableAgentImage, "mirror.example/agent:v1")}
	})
	addon := hubobjects.Deleting(hubobjects.Refer(hubobjects.Reported(hubobjects.AddOn("cluster2", "")), hashOf(t, config)), addonv1beta1.AddonPreDeleteHookFinalizer)
	addon.Status.Namespace = "kube-system"
	objects, err := newTestAddon(t, "image", naming(), config).Manifests(t.Context(), hubobjects.Cluster("cluster2"), addon)
	if err != nil {
		t.Fatal(err)
	}
	hook := hookOf(t, objects)
	if got := hook.Spec.Template.Spec.Containers[0].Image; hook.Namespace != "kube-system" || got != "mirror.example/agent:v1" {
		t.Errorf("the hook is %s in %s", got, hook.Namespace)
	}
}
