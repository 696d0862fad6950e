package addon

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

var update = flag.Bool("update", false, "write the golden files anew")

// checkGolden compares got with the golden file, or writes it with -update.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file: %v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if that is right, go test -update writes it:\n%s", path, diff)
	}
}

func newCluster(name string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
}

// newAddon is the add-on of a cluster; an empty namespace names none.
func newAddon(clusterName, installNamespace string) *addonv1beta1.ManagedClusterAddOn {
	addon := &addonv1beta1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName, Namespace: clusterName, UID: "uid-1"},
	}
	addon.Status.Conditions = []metav1.Condition{{
		Type: addonv1beta1.ManagedClusterAddOnConditionConfigured, Status: metav1.ConditionTrue,
	}}
	if installNamespace != "" {
		addon.Annotations = map[string]string{addonv1beta1.InstallNamespaceAnnotation: installNamespace}
	}
	return addon
}

// newHostedAddon is the add-on of a cluster whose agent runs on cluster1.
func newHostedAddon(clusterName, installNamespace string) *addonv1beta1.ManagedClusterAddOn {
	addon := newAddon(clusterName, installNamespace)
	if addon.Annotations == nil {
		addon.Annotations = map[string]string{}
	}
	addon.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "cluster1"
	return addon
}

// newConfig is an AddOnDeploymentConfig as the API server returns it.
func newConfig(change func(*addonv1beta1.AddOnDeploymentConfigSpec)) *addonv1beta1.AddOnDeploymentConfig {
	config := &addonv1beta1.AddOnDeploymentConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "config", Namespace: "configs"},
		Spec:       addonv1beta1.AddOnDeploymentConfigSpec{AgentInstallNamespace: manifests.DefaultInstallNamespace},
	}
	change(&config.Spec)
	return config
}

func variable(name, value string) addonv1beta1.CustomizedVariable {
	return addonv1beta1.CustomizedVariable{Name: name, Value: value}
}

var infraToleration = corev1.Toleration{
	Key: "node-role.kubernetes.io/infra", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
}
