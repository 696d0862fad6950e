// Package hubobjects builds the hub's objects for tests of pkg/hub: clusters,
// ManagedClusterAddOns, configs, and the ManifestWorks that addon-framework writes.
package hubobjects

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Cluster returns a ManagedCluster that the hub has accepted.
func Cluster(name string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
}

// AddOn returns the configured add-on of a cluster. An empty install namespace means
// that the add-on names none.
func AddOn(clusterName, installNamespace string) *addonv1beta1.ManagedClusterAddOn {
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

// HostedAddOn returns the add-on of a cluster whose agent runs on cluster1.
func HostedAddOn(clusterName, installNamespace string) *addonv1beta1.ManagedClusterAddOn {
	addon := AddOn(clusterName, installNamespace)
	if addon.Annotations == nil {
		addon.Annotations = map[string]string{}
	}
	addon.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] = "cluster1"
	return addon
}

// Reported adds the agent's report to the add-on, so that it may have copies.
func Reported(addon *addonv1beta1.ManagedClusterAddOn) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.Conditions = append(addon.Status.Conditions, metav1.Condition{
		Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionTrue, Reason: "Synced"})
	return addon
}

// Deleting marks the add-on as being deleted, with these finalizers.
func Deleting(addon *addonv1beta1.ManagedClusterAddOn, finalizers ...string) *addonv1beta1.ManagedClusterAddOn {
	now := metav1.Now()
	addon.DeletionTimestamp, addon.Finalizers = &now, finalizers
	return addon
}

// Config returns an AddOnDeploymentConfig as the API server returns it, changed.
func Config(change func(*addonv1beta1.AddOnDeploymentConfigSpec)) *addonv1beta1.AddOnDeploymentConfig {
	config := &addonv1beta1.AddOnDeploymentConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "config", Namespace: "configs"},
		Spec:       addonv1beta1.AddOnDeploymentConfigSpec{AgentInstallNamespace: manifests.DefaultInstallNamespace},
	}
	change(&config.Spec)
	return config
}

// Refer makes the add-on's status refer to Config's config with the desired hash.
func Refer(addon *addonv1beta1.ManagedClusterAddOn, hash string) *addonv1beta1.ManagedClusterAddOn {
	addon.Status.ConfigReferences = []addonv1beta1.ConfigReference{{
		ConfigGroupResource: addonv1beta1.ConfigGroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"},
		DesiredConfig: &addonv1beta1.ConfigSpecHash{
			ConfigReferent: addonv1beta1.ConfigReferent{Namespace: "configs", Name: "config"}, SpecHash: hash},
	}}
	return addon
}

// Variable returns a customized variable of a config.
func Variable(name, value string) addonv1beta1.CustomizedVariable {
	return addonv1beta1.CustomizedVariable{Name: name, Value: value}
}

// InfraToleration returns a toleration for the taint of infrastructure nodes.
func InfraToleration() corev1.Toleration {
	return corev1.Toleration{
		Key: "node-role.kubernetes.io/infra", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}
}

// Ship returns the ManifestWork in a cluster's namespace with which addon-framework
// ships the objects of the add-on, without the pre-delete hook.
func Ship(t *testing.T, addon *addonv1beta1.ManagedClusterAddOn, namespace string, objects []runtime.Object) *workv1.ManifestWork {
	t.Helper()
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "addon-helloworld-deploy-0", Namespace: namespace,
		Labels: map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName},
	}}
	if namespace == addon.Namespace {
		work.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(addon,
			schema.GroupVersionKind{Group: addonv1beta1.GroupName, Version: "v1beta1", Kind: "ManagedClusterAddOn"})}
	} else {
		work.Name = "addon-helloworld-deploy-hosting-" + addon.Namespace + "-0"
		work.Labels[addonv1beta1.AddonNamespaceLabelKey] = addon.Namespace
	}
	for _, object := range objects {
		if IsHook(object) {
			continue
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return work
}

// IsHook reports whether the object is the pre-delete hook.
func IsHook(object runtime.Object) bool {
	job, ok := object.(*batchv1.Job)
	return ok && strings.HasPrefix(job.Name, manifests.UninstallJob)
}

// CheckError fails the test unless the error contains want, or is nil when want is
// empty.
func CheckError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %q, want none", err)
	case want != "" && err == nil:
		t.Errorf("got no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want one with %q", err, want)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// CheckGolden compares got with the golden file in testdata, or writes it with -update.
func CheckGolden(t *testing.T, name, got string) {
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
