package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/agentdeploy"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

// TestReleases covers docs/design.md#rollout.
func TestReleases(t *testing.T) {
	notApplied := hubobjects.AgentWork("", hubobjects.RolledOut())
	notApplied.Generation++
	gone := hubobjects.AgentWork("", hubobjects.RolledOut())
	gone.Status.ResourceStatus.Manifests[1].Conditions = []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse}}
	deleted := hubobjects.DesiringAddOn("new")
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	tests := []struct {
		name  string
		addOn *addonv1beta1.ManagedClusterAddOn
		work  *workv1.ManifestWork
		want  bool
		value string
	}{
		{"the agent runs with the desired config", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.RolledOut()), true, hubobjects.DesiredHashes},
		{"released before: nothing is written again", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork(hubobjects.DesiredHashes, hubobjects.RolledOut()), false, hubobjects.DesiredHashes},
		{"the work agent has not reported", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", nil), false, ""},
		{"the cluster still has the config of before", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), feedbackConfigHash, "old")), false, ""},
		{"the Deployment's controller has not seen it", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), feedbackObservedGeneration, 2)), false, ""},
		{"the new pod is not available", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), feedbackAvailableReplicas, nil)), false, ""},
		{"the available pod is the old one", hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), feedbackReplicas, 2)), false, ""},
		{"its Deployment is gone since", hubobjects.DesiringAddOn("new"), gone, false, ""},
		{"nothing runs, as after scaling to 0", hubobjects.DesiringAddOn("new"),
			hubobjects.AgentWork("", hubobjects.With(hubobjects.With(hubobjects.With(hubobjects.RolledOut(), feedbackReplicas, nil), feedbackUpdatedReplicas, nil), feedbackAvailableReplicas, nil)), false, ""},
		{"the work has changed since it was applied", hubobjects.DesiringAddOn("new"), notApplied, false, hubobjects.DesiredHashes},
		{"the config was taken away", hubobjects.DesiringAddOn(""), hubobjects.AgentWork(hubobjects.DesiredHashes, hubobjects.With(hubobjects.RolledOut(), feedbackConfigHash, "")), true, ""},
		{"the config was taken away, and the cluster still has it", hubobjects.DesiringAddOn(""), hubobjects.AgentWork(hubobjects.DesiredHashes, hubobjects.RolledOut()), false, ""},
		{"there never was one", hubobjects.DesiringAddOn(""), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), feedbackConfigHash, nil)), false, ""},
		{"being deleted", deleted, hubobjects.AgentWork("", hubobjects.RolledOut()), false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			held, value := Releases(test.addOn, []*workv1.ManifestWork{test.work})
			if got := len(held) == 1; got != test.want || value != test.value {
				t.Errorf("released: %t with %q, want %t with %q", got, value, test.want, test.value)
			}
		})
	}
}

// TestHashesAreTheFrameworks: OCM expects the annotation as addon-framework computes it.
func TestHashesAreTheFrameworks(t *testing.T) {
	addOn := hubobjects.DesiringAddOn("new")
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
