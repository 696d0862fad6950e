package addon

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// refer makes the add-on's status refer to newConfig's config.
func refer(addon *addonv1beta1.ManagedClusterAddOn, hash string) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.ConfigReferences = []addonv1beta1.ConfigReference{{
		ConfigGroupResource: addonv1beta1.ConfigGroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"},
		DesiredConfig: &addonv1beta1.ConfigSpecHash{
			ConfigReferent: addonv1beta1.ConfigReferent{Namespace: "configs", Name: "config"}, SpecHash: hash},
	}}
	return addon
}

func TestManifests(t *testing.T) {
	mirrored := newConfig(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.AgentInstallNamespace = "own"
		spec.Registries = []addonv1beta1.ImageMirror{{Source: "quay.io/ocm", Mirror: "mirror.example/config"}}
	})
	upgraded := newConfig(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{variable(VariableAgentImage, "quay.io/ocm/agent:v2")}
	})
	const annotation = `{"registries":[{"source":"quay.io/ocm","mirror":"mirror.example/cluster"}]}`
	tests := []struct {
		name        string
		addon       *addonv1beta1.ManagedClusterAddOn
		annotation  string
		config      *addonv1beta1.AddOnDeploymentConfig
		wantImage   string
		wantInstall string
		err         string
	}{
		{name: "no config", addon: newAddon("cluster1", "default"), wantImage: "quay.io/ocm/agent:v1", wantInstall: "default"},
		{name: "the config's registry and namespace", addon: refer(newAddon("cluster1", "default"), hashOf(t, mirrored)),
			config: mirrored, annotation: annotation, wantImage: "mirror.example/config/agent:v1", wantInstall: "own"},
		{name: "the cluster's registry", addon: newAddon("cluster1", "default"), annotation: annotation,
			wantImage: "mirror.example/cluster/agent:v1", wantInstall: "default"},
		{name: "a cluster's registries that are no JSON", addon: newAddon("cluster1", ""), annotation: "{", err: "ManagedCluster cluster1"},
		{name: "a config that does not exist", addon: refer(newAddon("cluster1", ""), ""), err: "does not exist"},
		{name: "a config that was deleted", addon: refer(newAddon("cluster1", ""), "hash"),
			err: "AddOnDeploymentConfig configs/config does not exist: create it, or take it out of spec.configs"},
		{name: "a config whose content is not rolled out to this cluster yet", addon: refer(newAddon("cluster1", ""), "former"),
			config: mirrored, err: "has not rolled it out"},
		{name: "the config's image", addon: refer(newAddon("cluster1", ""), hashOf(t, upgraded)), config: upgraded,
			wantImage: "quay.io/ocm/agent:v2", wantInstall: manifests.DefaultInstallNamespace},
		{name: "a namespace that is none", addon: newAddon("cluster1", "No"), err: `install namespace "No"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cluster := newCluster("cluster1")
			if test.annotation != "" {
				cluster.Annotations = map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: test.annotation}
			}
			hub := []runtime.Object{naming()}
			if test.config != nil {
				hub = append(hub, test.config)
			}
			agentAddon := newTestAddon(t, "quay.io/ocm/agent:v1", hub...)
			objects, err := agentAddon.Manifests(t.Context(), cluster, test.addon)
			checkError(t, err, test.err)
			if test.err != "" {
				return
			}
			deployment, ok := objects[len(objects)-2].(*appsv1.Deployment)
			if !ok {
				t.Fatalf("the last object is a %T", objects[len(objects)-1])
			}
			if got := deployment.Spec.Template.Spec.Containers[0].Image; got != test.wantImage {
				t.Errorf("image is %s, want %s", got, test.wantImage)
			}
			if deployment.Namespace != test.wantInstall {
				t.Errorf("namespace is %s, want %s", deployment.Namespace, test.wantInstall)
			}
		})
	}
}

// TestSecretGoesWhereTheAgentIs: the framework writes the namespace for the
// secret to status.namespace by one way, and the manifests by another.
func TestSecretGoesWhereTheAgentIs(t *testing.T) {
	for _, installNamespace := range []string{"", "default", "own"} {
		agentAddon := newTestAddon(t, "image")
		addon := newAddon("cluster1", installNamespace)
		secretNamespace, err := agentAddon.GetAgentAddonOptions().AgentInstallNamespace(t.Context(), addon)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := agentAddon.Manifests(t.Context(), newCluster("cluster1"), addon)
		if err != nil {
			t.Fatal(err)
		}
		if got := objects[len(objects)-2].(*appsv1.Deployment).Namespace; got != secretNamespace {
			t.Errorf("with install namespace %q the agent is in %q and its secret in %q", installNamespace, got, secretNamespace)
		}
	}
}

func TestOptions(t *testing.T) {
	options := newTestAddon(t, "image").GetAgentAddonOptions()
	if options.HealthProber != nil {
		t.Error("a health prober is set, so OCM does not look at the agent's lease")
	}
	if options.AddonName != manifests.AddonName {
		t.Errorf("the add-on is called %q", options.AddonName)
	}
	if !options.HostedModeEnabled || options.HostedModeInfoFunc == nil {
		t.Error("hosted mode is off")
	}
	registrations, err := options.Registration.Configurations(t.Context(), newCluster("cluster1"), newAddon("cluster1", ""))
	if err != nil || len(registrations) != 1 {
		t.Fatalf("got %d registrations and error %v, want one", len(registrations), err)
	}
	addon := newAddon("cluster1", "")
	addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registrations[0].RegistrationAPI()}
	good := goodCase("cluster1")
	good.csr.Spec.Request = encode(t, good.request, newKey(t))
	if !options.Registration.CSRApproveCheck(t.Context(), good.cluster, addon, good.csr) {
		t.Error("a request by what is registered is not approved")
	}
	good.csr.Spec.Username = "somebody"
	if options.Registration.CSRApproveCheck(t.Context(), good.cluster, addon, good.csr) {
		t.Error("a request by somebody is approved")
	}
	err = options.Registration.PermissionConfig(t.Context(), good.cluster, newAddon("cluster1", "No"))
	checkError(t, err, `install namespace "No"`)
}

func TestRedeployWhenRegistriesChange(t *testing.T) {
	filter := newTestAddon(t, "image").GetAgentAddonOptions().AgentDeployTriggerClusterFilter
	plain, annotated := newCluster("cluster1"), newCluster("cluster1")
	annotated.Annotations = map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: "{}"}
	relabelled := newCluster("cluster1")
	relabelled.Labels = map[string]string{"a": "b"}
	if !filter(plain, annotated) || !filter(annotated, plain) {
		t.Error("a change of the registries does not deploy anew")
	}
	if filter(plain, relabelled) {
		t.Error("a change that the agent does not depend on deploys anew")
	}
}
