package rollout

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/agentdeploy"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const desired = `{"addondeploymentconfigs.addon.open-cluster-management.io/configs/config":"new"}`

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newAddOn is an add-on for which OCM has put the config of this hash as desired;
// empty means none.
func newAddOn(hash string) *addonv1beta1.ManagedClusterAddOn {
	addOn := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName, Namespace: "cluster1", UID: "1"}}
	if hash != "" {
		addOn.Status.ConfigReferences = []addonv1beta1.ConfigReference{{
			ConfigGroupResource: addonv1beta1.ConfigGroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"},
			DesiredConfig: &addonv1beta1.ConfigSpecHash{SpecHash: hash,
				ConfigReferent: addonv1beta1.ConfigReferent{Namespace: "configs", Name: "config"}},
		}}
	}
	return addOn
}

// rolledOut is the feedback of an agent that runs with the config "new".
func rolledOut() map[string]any {
	return map[string]any{feedbackConfigHash: "new", feedbackGeneration: 3, feedbackObservedGeneration: 3,
		feedbackReplicas: 1, feedbackUpdatedReplicas: 1, feedbackAvailableReplicas: 1}
}

// with is the feedback with one value changed, or taken away by nil.
func with(values map[string]any, name string, value any) map[string]any {
	if values[name] = value; value == nil {
		delete(values, name)
	}
	return values
}

// newWork is the work that carries the agent, applied, with this annotation and
// feedback.
func newWork(annotation string, feedback map[string]any) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "addon-helloworld-deploy-0", Namespace: "cluster1",
		UID: "2", ResourceVersion: "7", Generation: 4}}
	if annotation != "" {
		work.Annotations = map[string]string{hashKey: annotation}
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

func TestReleases(t *testing.T) {
	notApplied := newWork("", rolledOut())
	notApplied.Generation++
	gone := newWork("", rolledOut())
	gone.Status.ResourceStatus.Manifests[1].Conditions = []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse}}
	deleted := newAddOn("new")
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	tests := []struct {
		name  string
		addOn *addonv1beta1.ManagedClusterAddOn
		work  *workv1.ManifestWork
		want  bool
		value string
	}{
		{"the agent runs with the desired config", newAddOn("new"), newWork("", rolledOut()), true, desired},
		{"released before: nothing is written again", newAddOn("new"), newWork(desired, rolledOut()), false, desired},
		{"the work agent has not reported", newAddOn("new"), newWork("", nil), false, ""},
		{"the cluster still has the config of before", newAddOn("new"), newWork("", with(rolledOut(), feedbackConfigHash, "old")), false, ""},
		{"the Deployment's controller has not seen it", newAddOn("new"), newWork("", with(rolledOut(), feedbackObservedGeneration, 2)), false, ""},
		{"the new pod is not available", newAddOn("new"), newWork("", with(rolledOut(), feedbackAvailableReplicas, nil)), false, ""},
		{"the available pod is the old one", newAddOn("new"), newWork("", with(rolledOut(), feedbackReplicas, 2)), false, ""},
		{"its Deployment is gone since", newAddOn("new"), gone, false, ""},
		{"nothing runs, as after scaling to 0", newAddOn("new"),
			newWork("", with(with(with(rolledOut(), feedbackReplicas, nil), feedbackUpdatedReplicas, nil), feedbackAvailableReplicas, nil)), false, ""},
		{"the work has changed since it was applied", newAddOn("new"), notApplied, false, desired},
		{"the config was taken away", newAddOn(""), newWork(desired, with(rolledOut(), feedbackConfigHash, "")), true, ""},
		{"the config was taken away, and the cluster still has it", newAddOn(""), newWork(desired, rolledOut()), false, ""},
		{"there never was one", newAddOn(""), newWork("", with(rolledOut(), feedbackConfigHash, nil)), false, ""},
		{"being deleted", deleted, newWork("", rolledOut()), false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			held, value := Releases(test.addOn, []*workv1.ManifestWork{test.work}, desiredHash(test.addOn))
			if got := len(held) == 1; got != test.want || value != test.value {
				t.Errorf("released: %t with %q, want %t with %q", got, value, test.want, test.value)
			}
		})
	}
}

// TestHashesAreTheFrameworks: OCM compares the annotation with what
// addon-framework makes of the status.
func TestHashesAreTheFrameworks(t *testing.T) {
	addOn := newAddOn("new")
	want, err := json.Marshal(agentdeploy.ConfigsToMap(addOn.Status.ConfigReferences))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := configHashes(addOn)
	if diff := cmp.Diff(string(want), got); diff != "" || !ok {
		t.Errorf("settled: %t (-framework +ours):\n%s", ok, diff)
	}
	addOn.Status.ConfigReferences[0].DesiredConfig.SpecHash = ""
	if _, ok := configHashes(addOn); ok {
		t.Error("a config without a hash, which does not exist, counts as settled")
	}
}

func TestHold(t *testing.T) {
	for _, test := range []struct {
		name, patch, want string
		changes           bool
	}{
		{"the annotation alone", `{"metadata":{"annotations":{"open-cluster-management.io/config-spec-hash":"x"},"resourceVersion":"7","uid":"2"}}`,
			`{"metadata":{"resourceVersion":"7","uid":"2"}}`, false},
		{"its removal", `{"metadata":{"annotations":{"open-cluster-management.io/config-spec-hash":null},"uid":"2"}}`, `{"metadata":{"uid":"2"}}`, false},
		{"with another annotation", `{"metadata":{"annotations":{"open-cluster-management.io/config-spec-hash":"x","a":"b"},"uid":"2"}}`,
			`{"metadata":{"annotations":{"a":"b"},"uid":"2"}}`, true},
		{"with a new spec", `{"metadata":{"annotations":{"open-cluster-management.io/config-spec-hash":"x"},"uid":"2"},"spec":{"a":1}}`,
			`{"metadata":{"uid":"2"},"spec":{"a":1}}`, true},
		{"a spec alone", `{"metadata":{"uid":"2"},"spec":{"a":1}}`, `{"metadata":{"uid":"2"},"spec":{"a":1}}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, changes, err := Hold([]byte(test.patch))
			if err != nil || changes != test.changes {
				t.Errorf("changes: %t, error %v, want %t", changes, err, test.changes)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := Hold([]byte("{")); err == nil {
		t.Error("a patch that is no JSON passes")
	}
}
