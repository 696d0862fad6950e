package addon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestRenderHookGolden(t *testing.T) {
	hook, err := RenderHook(Values{ClusterName: "cluster1", InstallNamespace: "default", Image: manifests.DefaultImage,
		AddOnUID: "uid-1", PriorityClassName: "urgent", LogVerbosity: "4", Tolerations: []corev1.Toleration{infraToleration},
		NodeSelector: map[string]string{"infra": "yes"}, ImagePullSecret: "pull",
		ProxyEnv: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy.example:3128"}}})
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "hook.yaml", toYAML(t, []runtime.Object{hook}))
}

func TestHookIsOneOfItsOwn(t *testing.T) {
	name := func(values Values) string {
		hook, err := RenderHook(values)
		if err != nil {
			t.Fatal(err)
		}
		return hook.Name
	}
	values := Values{ClusterName: "cluster1", InstallNamespace: "default", Image: "image:1", AddOnUID: "1"}
	if first, second := name(values), name(values); first != second {
		t.Error("the name changes by itself, so that the Job is run again and again")
	}
	later, upgraded := values, values
	later.AddOnUID, upgraded.Image = "2", "image:2"
	for reason, other := range map[string]Values{
		"an earlier add-on's completion would count":     later,
		"Kubernetes refuses to change the pods of a Job": upgraded,
	} {
		if name(values) == name(other) {
			t.Errorf("one name for two Jobs: %s", reason)
		}
	}
}

func TestHookNamesAreTheContract(t *testing.T) {
	hook, err := RenderHook(Values{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := hook.Annotations[addonv1beta1.AddonPreDeleteHookAnnotationKey]; !ok {
		t.Error("the framework takes it for no hook, and runs it while the add-on is enabled")
	}
	pod := hook.Spec.Template.Spec
	got := []string{strings.TrimRight(hook.Name, "0123456789abcdef"), pod.ServiceAccountName, strings.Join(pod.Containers[0].Command, " ")}
	want := []string{manifests.UninstallJob + "-", manifests.AgentServiceAccount, manifests.AgentCommand + " " + manifests.UninstallCommand}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

// TestWhichObjectsWhen: the hook is part of the objects as long as the framework
// can run it, whatever became of the configuration.
func TestWhichObjectsWhen(t *testing.T) {
	reference := func(addon *addonv1beta1.ManagedClusterAddOn) { refer(addon, "hash") }
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
			addon := newAddon("cluster1", "default")
			for _, change := range test.changes {
				change(addon)
			}
			agentAddon := newTestAddon(t, "image", naming())
			objects, err := agentAddon.Manifests(t.Context(), newCluster("cluster1"), addon)
			checkError(t, err, test.err)
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

// TestHookOfAConfigOfAnotherHash: an agent whose image cannot be pulled is deleted
// when the config names one that can, though OCM rolls nothing out any more. An
// agent that runs is deleted with the image with which it runs, and no cluster gets
// the content of another placement's config.
func TestHookOfAConfigOfAnotherHash(t *testing.T) {
	config := newConfig(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{variable(VariableAgentImage, "mirror.example/agent:present")}
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
			addon := deleting(refer(reported(newAddon("cluster2", "")), "former"), addonv1beta1.AddonPreDeleteHookFinalizer)
			if test.applied != "" {
				addon.Status.ConfigReferences[0].LastAppliedConfig = &addonv1beta1.ConfigSpecHash{SpecHash: test.applied}
			}
			work := shipped(t, addon, Place{Namespace: "here"}, Values{Image: "mirror.example/agent:shipped", ConfigHash: "former"})
			objects, err := newTestAddon(t, "image", test.management, config, work).Manifests(t.Context(), newCluster("cluster2"), addon)
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

// TestHookOfAWorkThatIsGone: the hook runs where the copies are, with the image
// that the config names, also where a new agent would be refused.
func TestHookOfAWorkThatIsGone(t *testing.T) {
	config := newConfig(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{variable(VariableAgentImage, "mirror.example/agent:v1")}
	})
	addon := deleting(refer(reported(newAddon("cluster2", "")), hashOf(t, config)), addonv1beta1.AddonPreDeleteHookFinalizer)
	addon.Status.Namespace = "kube-system"
	objects, err := newTestAddon(t, "image", naming(), config).Manifests(t.Context(), newCluster("cluster2"), addon)
	if err != nil {
		t.Fatal(err)
	}
	hook := hookOf(t, objects)
	if got := hook.Spec.Template.Spec.Containers[0].Image; hook.Namespace != "kube-system" || got != "mirror.example/agent:v1" {
		t.Errorf("the hook is %s in %s", got, hook.Namespace)
	}
}
