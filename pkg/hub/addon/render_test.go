package addon

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
			addon: newAddon("cluster1", "default"),
		},
		{
			name:  "in a namespace of its own: shipped, and left behind at the end",
			file:  "agent-own-namespace.yaml",
			addon: newAddon("cluster1", "hello"),
		},
		{
			name:  "hosted: the agent on the hosting cluster, the copies on the managed one",
			file:  "agent-hosted.yaml",
			addon: newHostedAddon("cluster2", "klusterlet-cluster2"),
		},
		{
			name:  "with everything that a config can say",
			file:  "agent-config.yaml",
			addon: newAddon("cluster2", ""),
			config: newConfig(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
				spec.AgentInstallNamespace = "agents"
				spec.NodePlacement = &addonv1beta1.NodePlacement{
					NodeSelector: map[string]string{"node-role.kubernetes.io/infra": ""},
					Tolerations:  []corev1.Toleration{infraToleration},
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
					variable(VariableImagePullSecret, "pull"),
					variable(VariablePriorityClassName, "system-cluster-critical"),
					variable(VariableLogVerbosity, "4"),
					variable(VariableDeletionHold, "30m"),
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
			checkGolden(t, test.file, toYAML(t, objects))
		})
	}
}

// TestRenderKeepsStructure shows that no value can add to a document: the same
// objects come out whatever is in it.
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

// TestNamesAreTheContract: the documents spell out the names that others take
// from package manifests.
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

// named is the one name to which the role restricts the resource.
func named(role *rbacv1.Role, resource string) string {
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, resource) && len(rule.ResourceNames) == 1 {
			return rule.ResourceNames[0]
		}
	}
	return ""
}
