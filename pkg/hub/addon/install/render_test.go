package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestRenderGolden(t *testing.T) {
	tests := []struct {
		name   string
		file   string
		addon  *addonv1beta1.ManagedClusterAddOn
		config *addonv1beta1.AddOnDeploymentConfig
	}{
		{
			name:  "in default: no namespace is shipped",
			file:  "agent-default.yaml",
			addon: hubobjects.AddOn("cluster1", "default"),
		},
		{
			name:  "in a namespace of its own: shipped, and left behind at the end",
			file:  "agent-own-namespace.yaml",
			addon: hubobjects.AddOn("cluster1", "hello"),
		},
		{
			name:  "hosted: the agent on the hosting cluster, the copies on the managed one",
			file:  "agent-hosted.yaml",
			addon: hubobjects.HostedAddOn("cluster2", "klusterlet-cluster2"),
		},
		{
			name:  "with every value of a config",
			file:  "agent-config.yaml",
			addon: hubobjects.AddOn("cluster2", ""),
			config: hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
				spec.AgentInstallNamespace = "agents"
				spec.NodePlacement = &addonv1beta1.NodePlacement{
					NodeSelector: map[string]string{"node-role.kubernetes.io/infra": ""},
					Tolerations:  []corev1.Toleration{hubobjects.InfraToleration()},
				}
				spec.ProxyConfig = addonv1beta1.ProxyConfig{HTTPSProxy: "http://proxy.example:3128", NoProxy: ".cluster.local"}
				spec.ResourceRequirements = []addonv1beta1.ContainerResourceRequirements{{
					ContainerID: "*:*:*",
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
						Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
					},
				}}
				spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{
					hubobjects.Variable(VariableImagePullSecret, "pull"),
					hubobjects.Variable(VariablePriorityClassName, "system-cluster-critical"),
					hubobjects.Variable(VariableLogVerbosity, "4"),
					hubobjects.Variable(VariableDeletionHold, "30m"),
				}
			}),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			place, err := WantedPlace(test.addon, test.config)
			if err != nil {
				t.Fatal(err)
			}
			values, err := NewValues(test.addon, place, test.config, manifests.DefaultImage)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Render(values)
			if err != nil {
				t.Fatal(err)
			}
			hubobjects.CheckGolden(t, test.file, toYAML(t, objects))
		})
	}
}

// TestRenderKeepsStructure: no value can add to a document. The objects are the same
// with any values.
func TestRenderKeepsStructure(t *testing.T) {
	const hostile = "x\nkind: Secret\n---\n{{ .Values }}\"'$(VAR)"
	objects, err := Render(Values{
		ClusterName: hostile, InstallNamespace: "default", Image: hostile, PriorityClassName: hostile,
		NodeSelector: map[string]string{hostile: hostile},
		ProxyEnv:     []corev1.EnvVar{{Name: "HTTP_PROXY", Value: hostile}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
	}
	if got, want := strings.Join(kinds, " "), "ServiceAccount Role RoleBinding Role RoleBinding Deployment"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestShipsNamespace(t *testing.T) {
	tests := []struct {
		name, reason string
		want         bool
	}{
		{name: "default", reason: "always there"},
		{name: "kube-system", reason: "Kubernetes' own"},
		{name: "kube-anything", reason: "the prefix is reserved for Kubernetes"},
		{name: "kubernetes-tools", reason: "not the reserved prefix", want: true},
		{name: manifests.DefaultInstallNamespace, reason: "OCM need not have made it", want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := shipsNamespace(test.name); got != test.want {
				t.Errorf("got %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}

func toYAML(t *testing.T, objects []runtime.Object) string {
	t.Helper()
	var documents []string
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Empty() {
			t.Errorf("%T has no apiVersion and kind, which a ManifestWork needs", object)
		}
		document, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(document))
	}
	return strings.Join(documents, "---\n")
}

// TestNamesAreTheContract: the documents have the names in package manifests.
func TestNamesAreTheContract(t *testing.T) {
	objects, err := Render(Values{ClusterName: "cluster1", InstallNamespace: "default", Image: "image"})
	if err != nil {
		t.Fatal(err)
	}
	serviceAccount := objects[0].(*corev1.ServiceAccount)
	role := objects[1].(*rbacv1.Role)
	binding := objects[2].(*rbacv1.RoleBinding)
	events := objects[4].(*rbacv1.RoleBinding)
	deployment := objects[5].(*appsv1.Deployment)
	pod := deployment.Spec.Template.Spec
	lease, secret := named(role, "leases"), named(role, "secrets")
	got := []string{serviceAccount.Name, role.Name, binding.Name, binding.RoleRef.Name, binding.Subjects[0].Name,
		binding.Subjects[0].Namespace, objects[3].(*rbacv1.Role).Name, events.Name, events.RoleRef.Name,
		events.Subjects[0].Name, events.Subjects[0].Namespace, deployment.Name, pod.ServiceAccountName, pod.Containers[0].Name,
		pod.Containers[0].Command[0], lease, secret, fmt.Sprintf(":%d", pod.Containers[0].Ports[0].ContainerPort)}
	want := []string{manifests.AgentServiceAccount, manifests.AgentRole, manifests.AgentRole, manifests.AgentRole,
		manifests.AgentServiceAccount, "default", manifests.AgentEventRole, manifests.AgentEventRole, manifests.AgentEventRole,
		manifests.AgentServiceAccount, "default", manifests.AgentDeployment, manifests.AgentServiceAccount, manifests.AgentDeployment,
		manifests.AgentCommand, manifests.AgentLease, manifests.HubKubeconfigSecret, manifests.DefaultHealthBindAddress}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
	if want := fmt.Sprintf(":%d", manifests.HealthPort); want != manifests.DefaultHealthBindAddress {
		t.Errorf("the health port is %s and its default address %s", want, manifests.DefaultHealthBindAddress)
	}
}

// named returns the one name to which the role restricts the resource.
func named(role *rbacv1.Role, resource string) string {
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, resource) && len(rule.ResourceNames) == 1 {
			return rule.ResourceNames[0]
		}
	}
	return ""
}

func TestRenderHookGolden(t *testing.T) {
	hook, err := RenderHook(Values{ClusterName: "cluster1", InstallNamespace: "default", Image: manifests.DefaultImage,
		AddOnUID: "uid-1", PriorityClassName: "urgent", LogVerbosity: "4", Tolerations: []corev1.Toleration{hubobjects.InfraToleration()},
		NodeSelector: map[string]string{"infra": "yes"}, ImagePullSecret: "pull",
		ProxyEnv: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy.example:3128"}}})
	if err != nil {
		t.Fatal(err)
	}
	hubobjects.CheckGolden(t, "hook.yaml", toYAML(t, []runtime.Object{hook}))
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

// TestHostedRightsAreSplit: nothing of the hosting cluster's is given on the
// managed one, and no ConfigMap on the hosting one.
func TestHostedRightsAreSplit(t *testing.T) {
	values, err := NewValues(hubobjects.HostedAddOn("cluster2", "own"), Place{"cluster1", "own"}, nil, "image")
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
	values, err := NewValues(hubobjects.HostedAddOn("cluster2", "own"), Place{"cluster1", "own"}, nil, "image")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := RenderHook(values)
	if err != nil {
		t.Fatal(err)
	}
	hubobjects.CheckGolden(t, "hook-hosted.yaml", toYAML(t, []runtime.Object{hook}))
}
