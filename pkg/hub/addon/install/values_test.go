package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

func TestWantedNamespace(t *testing.T) {
	named := func(namespace string) *addonv1beta1.AddOnDeploymentConfig {
		return hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) { spec.AgentInstallNamespace = namespace })
	}
	const ocmDefault = "open-cluster-management-agent-addon"
	tests := []struct {
		name   string
		addon  string
		config *addonv1beta1.AddOnDeploymentConfig
		want   string
		err    string
	}{
		{name: "none is named", want: ocmDefault},
		{name: "the add-on names one", addon: "default", want: "default"},
		{name: "a config overrides the add-on", addon: "default", config: named("own"), want: "own"},
		{name: "a config with the API's default, which may be silent, does not", addon: "default", config: named(ocmDefault), want: "default"},
		{name: "a config with an empty name, which template add-ons use, does not", addon: "own", config: named(""), want: "own"},
		{name: "a config's default counts when the add-on names none", config: named(ocmDefault), want: ocmDefault},
		{name: "an annotation is not validated by the API", addon: "Not_A_Name", err: `install namespace "Not_A_Name" of ManagedClusterAddOn cluster1/helloworld`},
		{name: "users who write ConfigMaps on the hub must not plant one in the cluster's system", addon: "kube-system",
			err: `install namespace "kube-system" of ManagedClusterAddOn cluster1/helloworld (from spec.installNamespace`},
		{name: "nor in OpenShift's, by a config either", config: named("openshift-config"),
			err: "from spec.agentInstallNamespace of AddOnDeploymentConfig configs/config"},
		{name: "nor in OCM's own", addon: "open-cluster-management-agent", err: "belongs to the cluster's system"},
		{name: "a name that only begins alike is no system namespace", addon: "kubernetes-tools", want: "kubernetes-tools"},
		{name: "on a hub that manages itself the sources would be their own copies", addon: "cluster1",
			err: `install namespace "cluster1" of ManagedClusterAddOn cluster1/helloworld (from spec.installNamespace`},
		{name: "the cluster's own name by a config", config: named("cluster1"),
			err: "from spec.agentInstallNamespace of AddOnDeploymentConfig configs/config) has the name of the cluster's namespace on the hub"},
		{name: "cluster10 is not cluster1", addon: "cluster10", want: "cluster10"},
		{name: "nor is its length", addon: strings.Repeat("a", 64), err: "must be no more than 63"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := WantedPlace(hubobjects.AddOn("cluster1", test.addon), test.config)
			hubobjects.CheckError(t, err, test.err)
			if want := (Place{Namespace: test.want}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestNewValuesReportsEveryProblem(t *testing.T) {
	config := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{
			hubobjects.Variable(VariableLogVerbosity, "eleven"),
			hubobjects.Variable(VariableImagePullSecret, "a b"),
			hubobjects.Variable(VariablePriorityClassName, "UPPER"),
			hubobjects.Variable(VariableDeletionHold, "-1m"),
			hubobjects.Variable(VariableAgentImage, "not an image"),
			hubobjects.Variable("SomebodyElses", "??"),
		}
	})
	_, err := NewValues(hubobjects.AddOn("cluster1", ""), Place{Namespace: "own"}, config, "image")
	for _, want := range []string{
		`customized variable LogVerbosity of AddOnDeploymentConfig configs/config has the value "eleven": must be a number from 0 to 10`,
		`customized variable ImagePullSecret`,
		`customized variable PriorityClassName`,
		`customized variable DeletionHold of AddOnDeploymentConfig configs/config has the value "-1m": must be a duration from 0 to 168h0m0s`,
		`customized variable AgentImage of AddOnDeploymentConfig configs/config has the value "not an image": must be an image`,
	} {
		hubobjects.CheckError(t, err, want)
	}
	if err != nil && strings.Contains(err.Error(), "SomebodyElses") {
		t.Errorf("an unknown variable is reported: %v", err)
	}
}

// TestLogVerbosityIsCapped: from level 8 on client-go logs what the API server
// answers, the Secret with the agent's key included.
func TestLogVerbosityIsCapped(t *testing.T) {
	for value, want := range map[string]string{"0": "0", "7": "7", "8": "7", "10": "7"} {
		config := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
			spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{hubobjects.Variable(VariableLogVerbosity, value)}
		})
		values, err := NewValues(hubobjects.AddOn("cluster1", ""), Place{Namespace: "own"}, config, "image")
		if err != nil || values.LogVerbosity != want {
			t.Errorf("LogVerbosity %s became %q, error %v, want %s", value, values.LogVerbosity, err, want)
		}
	}
}

func TestAgentResources(t *testing.T) {
	memory := func(quantity string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}}
	}
	requirement := func(id, quantity string) addonv1beta1.ContainerResourceRequirements {
		return addonv1beta1.ContainerResourceRequirements{ContainerID: id, Resources: memory(quantity)}
	}
	tests := []struct {
		name         string
		requirements []addonv1beta1.ContainerResourceRequirements
		want         string
	}{
		{name: "none"},
		{name: "every container", requirements: []addonv1beta1.ContainerResourceRequirements{requirement("*:*:*", "1Gi")}, want: "1Gi"},
		{name: "the agent's container", requirements: []addonv1beta1.ContainerResourceRequirements{
			requirement("deployments:helloworld-agent:helloworld-agent", "1Gi")}, want: "1Gi"},
		{name: "another container", requirements: []addonv1beta1.ContainerResourceRequirements{requirement("deployments:*:other", "1Gi")}},
		{name: "another kind", requirements: []addonv1beta1.ContainerResourceRequirements{requirement("daemonsets:*:*", "1Gi")}},
		{name: "the last match counts, as the API documents", requirements: []addonv1beta1.ContainerResourceRequirements{
			requirement("*:*:helloworld-agent", "1Gi"), requirement("*:*:*", "2Gi"), requirement("*:other:*", "3Gi")}, want: "2Gi"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want *corev1.ResourceRequirements
			if test.want != "" {
				requirements := memory(test.want)
				want = &requirements
			}
			if diff := cmp.Diff(want, agentResources(test.requirements)); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyEnv(t *testing.T) {
	tests := []struct {
		name  string
		proxy addonv1beta1.ProxyConfig
		want  []corev1.EnvVar
	}{
		{name: "none"},
		{name: "exceptions alone are no proxy", proxy: addonv1beta1.ProxyConfig{NoProxy: "a.example"}},
		{
			name:  "the cluster's own API server is never reached through it",
			proxy: addonv1beta1.ProxyConfig{HTTPSProxy: "http://proxy:3128"},
			want: []corev1.EnvVar{
				{Name: "HTTPS_PROXY", Value: "http://proxy:3128"},
				{Name: "NO_PROXY", Value: "$(KUBERNETES_SERVICE_HOST)"},
			},
		},
		{
			name:  "with both proxies and exceptions",
			proxy: addonv1beta1.ProxyConfig{HTTPProxy: "http://a:1", HTTPSProxy: "http://b:2", NoProxy: ".svc,10.0.0.0/8"},
			want: []corev1.EnvVar{
				{Name: "HTTP_PROXY", Value: "http://a:1"},
				{Name: "HTTPS_PROXY", Value: "http://b:2"},
				{Name: "NO_PROXY", Value: ".svc,10.0.0.0/8,$(KUBERNETES_SERVICE_HOST)"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, proxyEnv(test.proxy)); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}
