package hubobjects

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// DesiredHashes is the annotation of a ManifestWork with the config that DesiringAddOn
// desires with the hash "new".
const DesiredHashes = `{"addondeploymentconfigs.addon.open-cluster-management.io/configs/config":"new"}`

// DesiringAddOn returns the add-on of cluster1, without conditions, for which OCM
// desires the config with this hash; empty means that it has no config.
func DesiringAddOn(hash string) *addonv1beta1.ManagedClusterAddOn {
	addOn := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName, Namespace: "cluster1", UID: "1"}}
	if hash != "" {
		Refer(addOn, hash)
	}
	return addOn
}

// RolledOut returns the feedback of an agent that runs with the config "new".
func RolledOut() map[string]any {
	return map[string]any{"configHash": "new", "generation": 3, "observedGeneration": 3,
		"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
}

// With returns the feedback with one value changed, or removed by nil.
func With(values map[string]any, name string, value any) map[string]any {
	values = maps.Clone(values)
	if values[name] = value; value == nil {
		delete(values, name)
	}
	return values
}

// AgentWork returns the applied ManifestWork with the agent of cluster1, with this
// annotation of config hashes and this feedback.
func AgentWork(annotation string, feedback map[string]any) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "addon-helloworld-deploy-0", Namespace: "cluster1",
		UID: "2", ResourceVersion: "7", Generation: 4}}
	if annotation != "" {
		work.Annotations = map[string]string{workv1.ManifestConfigSpecHashAnnotationKey: annotation}
	}
	work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 4}}
	manifest := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
		Group: "apps", Resource: "deployments", Namespace: "default", Name: manifests.AgentDeployment}}
	for name, value := range feedback {
		field := workv1.FieldValue{}
		switch value := value.(type) {
		case string:
			field.String = &value
		case int:
			number := int64(value)
			field.Integer = &number
		}
		manifest.StatusFeedbacks.Values = append(manifest.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: field})
	}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{ResourceMeta: workv1.ManifestResourceMeta{Resource: "roles"}}, manifest}
	return work
}
