package addon

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

func TestMayDeploy(t *testing.T) {
	configured := func(status metav1.ConditionStatus) *addonv1beta1.ManagedClusterAddOn {
		addOn := hubobjects.AddOn("cluster2", "")
		addOn.Status.Conditions = []metav1.Condition{{Type: addonv1beta1.ManagedClusterAddOnConditionConfigured, Status: status}}
		return addOn
	}
	applied := configured(metav1.ConditionFalse)
	applied.Status.Conditions = append(applied.Status.Conditions, metav1.Condition{Type: addonv1beta1.ManagedClusterAddOnManifestApplied, Status: metav1.ConditionTrue})
	tests := []struct {
		name, reason string
		addOn        *addonv1beta1.ManagedClusterAddOn
		shipped      bool
		config       bool
		want         bool
	}{
		{name: "just enabled", addOn: configured(metav1.ConditionFalse), want: false, reason: "it would only write that it waits for OCM"},
		{name: "configured", addOn: configured(metav1.ConditionTrue), want: true, reason: "it can be deployed"},
		{name: "configured, and OCM has not read its config yet", addOn: hubobjects.Refer(configured(metav1.ConditionTrue), ""), config: true, want: false,
			reason: "it would only write that the config is not rolled out"},
		{name: "the same, with an agent", addOn: hubobjects.Refer(configured(metav1.ConditionTrue), ""), config: true, shipped: true, want: true,
			reason: "what is shipped is kept as it is, and ManifestApplied reports on it"},
		{name: "configured, and its config does not exist", addOn: hubobjects.Refer(configured(metav1.ConditionTrue), ""), want: true,
			reason: "the conditions tell the user"},
		{name: "configured, and it refers to a config that no user of the hub names",
			addOn: referTo(configured(metav1.ConditionTrue), "other"), want: true, reason: "the conditions tell the user: waiting does not end"},
		{name: "its config was deleted", addOn: configured(metav1.ConditionFalse), shipped: true, want: true,
			reason: "what is shipped is kept as it is, and ManifestApplied reports on it"},
		{name: "its config and its ManifestWork were deleted", addOn: applied, want: true,
			reason: "ManifestApplied would stay True while nothing is deployed"},
		{name: "deleted before it was configured", addOn: hubobjects.Deleting(configured(metav1.ConditionFalse), "finalizer"), want: true,
			reason: "the framework removes its finalizers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects := []runtime.Object{naming()}
			if test.config {
				objects = append(objects, hubobjects.Config(func(*addonv1beta1.AddOnDeploymentConfigSpec) {}))
			}
			if test.shipped {
				objects = append(objects, shipped(t, test.addOn, install.Place{Namespace: "here"}, install.Values{Image: "image"}))
			}
			if got := newTestAddon(t, "image", objects...).MayDeploy(test.addOn); got != test.want {
				t.Errorf("got %t: %s", got, test.reason)
			}
		})
	}
}

// referTo refers to another config than the one that the hub's users name.
func referTo(addOn *addonv1beta1.ManagedClusterAddOn, name string) *addonv1beta1.ManagedClusterAddOn {
	addOn = hubobjects.Refer(addOn, "")
	addOn.Status.ConfigReferences[0].DesiredConfig.Name = name
	return addOn
}

func TestMayRegister(t *testing.T) {
	own := hubobjects.AddOn("cluster2", "")
	own.Status.Conditions = nil
	own.Spec.Configs = []addonv1beta1.AddOnConfig{{ConfigReferent: addonv1beta1.ConfigReferent{Name: "config"}}}
	plain := hubobjects.AddOn("cluster2", "")
	plain.Status.Conditions = nil
	tests := []struct {
		name, reason string
		addOn        *addonv1beta1.ManagedClusterAddOn
		want         bool
	}{
		{name: "just enabled", addOn: plain, want: false, reason: "OCM's add-on manager writes it now"},
		{name: "just enabled, with a config of its own", addOn: own, want: true, reason: "OCM reports the config as not supported until then"},
		{name: "configured", addOn: hubobjects.AddOn("cluster2", ""), want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := newTestAddon(t, "image").MayRegister(test.addOn); got != test.want {
				t.Errorf("got %t: %s", got, test.reason)
			}
		})
	}
}
