package addon

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
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
	broken := errors.New("gone")
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
	type changes = []func(*addonv1beta1.ManagedClusterAddOn)
	installed := func(addon *addonv1beta1.ManagedClusterAddOn) { addon.Status.Namespace = "there" }
	hook := deleting(addonv1beta1.AddonPreDeleteHookFinalizer)
	all := "ServiceAccount Role RoleBinding Deployment Job"
	tests := []struct {
		name    string
		changes []func(*addonv1beta1.ManagedClusterAddOn)
		want    string
		err     string
	}{
		{name: "enabled", want: all},
		{name: "configs not settled yet", changes: changes{unconfigured}, err: "has not settled"},
		{name: "being deleted: the agent stays until the hook is done", changes: changes{hook, reported}, want: all},
		{name: "being deleted, condition Configured is gone", changes: changes{hook, unconfigured, reported}, want: all},
		{name: "being deleted, hook done", changes: changes{deleting("other"), reported}},
		{name: "being deleted, no agent ever reported", changes: changes{hook}},
		{name: "being deleted, no agent ever reported, config deleted before", changes: changes{hook, reference}},
		{name: "being deleted, never configured", changes: changes{deleting(), unconfigured}},
		{name: "being deleted, config deleted before", changes: changes{hook, reference, installed, reported}, want: "Job"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addon := newAddon("cluster1", "default")
			for _, change := range test.changes {
				change(addon)
			}
			agentAddon := New("image", fake.NewClientset(), configs{err: broken})
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
