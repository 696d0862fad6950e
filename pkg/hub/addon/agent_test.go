package addon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

func TestManifests(t *testing.T) {
	mirrored := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.AgentInstallNamespace = "own"
		spec.Registries = []addonv1beta1.ImageMirror{{Source: "quay.io/ocm", Mirror: "mirror.example/config"}}
	})
	upgraded := hubobjects.Config(func(spec *addonv1beta1.AddOnDeploymentConfigSpec) {
		spec.CustomizedVariables = []addonv1beta1.CustomizedVariable{hubobjects.Variable(install.VariableAgentImage, "quay.io/ocm/agent:v2")}
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
		{name: "no config", addon: hubobjects.AddOn("cluster1", "default"), wantImage: "quay.io/ocm/agent:v1", wantInstall: "default"},
		{name: "the config's registry and namespace", addon: hubobjects.Refer(hubobjects.AddOn("cluster1", "default"), hashOf(t, mirrored)),
			config: mirrored, annotation: annotation, wantImage: "mirror.example/config/agent:v1", wantInstall: "own"},
		{name: "the cluster's registry", addon: hubobjects.AddOn("cluster1", "default"), annotation: annotation,
			wantImage: "mirror.example/cluster/agent:v1", wantInstall: "default"},
		{name: "a cluster's registries that are no JSON", addon: hubobjects.AddOn("cluster1", ""), annotation: "{", err: "ManagedCluster cluster1"},
		{name: "a config that does not exist", addon: hubobjects.Refer(hubobjects.AddOn("cluster1", ""), ""), err: "does not exist"},
		{name: "a config that was deleted", addon: hubobjects.Refer(hubobjects.AddOn("cluster1", ""), "hash"),
			err: "AddOnDeploymentConfig configs/config does not exist: create it, or take it out of spec.configs"},
		{name: "a config whose content is not rolled out to this cluster yet", addon: hubobjects.Refer(hubobjects.AddOn("cluster1", ""), "former"),
			config: mirrored, err: "has not rolled it out"},
		{name: "the config's image", addon: hubobjects.Refer(hubobjects.AddOn("cluster1", ""), hashOf(t, upgraded)), config: upgraded,
			wantImage: "quay.io/ocm/agent:v2", wantInstall: manifests.DefaultInstallNamespace},
		{name: "a namespace that is none", addon: hubobjects.AddOn("cluster1", "No"), err: `install namespace "No"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cluster := hubobjects.Cluster("cluster1")
			if test.annotation != "" {
				cluster.Annotations = map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: test.annotation}
			}
			hub := []runtime.Object{naming()}
			if test.config != nil {
				hub = append(hub, test.config)
			}
			agentAddon := newTestAddon(t, "quay.io/ocm/agent:v1", hub...)
			objects, err := agentAddon.Manifests(t.Context(), cluster, test.addon)
			hubobjects.CheckError(t, err, test.err)
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

// TestSecretGoesWhereTheAgentIs: the framework asks for the namespace of the Secret and
// for the manifests in separate calls.
func TestSecretGoesWhereTheAgentIs(t *testing.T) {
	for _, installNamespace := range []string{"", "default", "own"} {
		agentAddon := newTestAddon(t, "image")
		addon := hubobjects.AddOn("cluster1", installNamespace)
		secretNamespace, err := agentAddon.GetAgentAddonOptions().AgentInstallNamespace(t.Context(), addon)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := agentAddon.Manifests(t.Context(), hubobjects.Cluster("cluster1"), addon)
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
	registrations, err := options.Registration.Configurations(t.Context(), hubobjects.Cluster("cluster1"), hubobjects.AddOn("cluster1", ""))
	if err != nil || len(registrations) != 1 {
		t.Fatalf("got %d registrations and error %v, want one", len(registrations), err)
	}
	addon := hubobjects.AddOn("cluster1", "")
	addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registrations[0].RegistrationAPI()}
	cluster, request := hubobjects.Cluster("cluster1"), newRequest(t, "cluster1")
	if !options.Registration.CSRApproveCheck(t.Context(), cluster, addon, request) {
		t.Error("a request by what is registered is not approved")
	}
	request.Spec.Username = "other"
	if options.Registration.CSRApproveCheck(t.Context(), cluster, addon, request) {
		t.Error("another user's request is approved")
	}
	err = options.Registration.PermissionConfig(t.Context(), cluster, hubobjects.AddOn("cluster1", "No"))
	hubobjects.CheckError(t, err, `install namespace "No"`)
}

// newRequest returns the certificate signing request of the cluster's registration
// agent for the add-on.
func newRequest(t *testing.T, cluster string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: identity.User(cluster), Organization: identity.Groups(cluster)},
		DNSNames: []string{manifests.DNSName},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Username:   "system:open-cluster-management:" + cluster + ":agent1",
		SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
	}}
}

func TestRedeployWhenRegistriesChange(t *testing.T) {
	filter := newTestAddon(t, "image").GetAgentAddonOptions().AgentDeployTriggerClusterFilter
	plain, annotated := hubobjects.Cluster("cluster1"), hubobjects.Cluster("cluster1")
	annotated.Annotations = map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: "{}"}
	relabelled := hubobjects.Cluster("cluster1")
	relabelled.Labels = map[string]string{"a": "b"}
	if !filter(plain, annotated) || !filter(annotated, plain) {
		t.Error("a change of the registries does not deploy anew")
	}
	if filter(plain, relabelled) {
		t.Error("a change that the agent does not depend on deploys anew")
	}
}
