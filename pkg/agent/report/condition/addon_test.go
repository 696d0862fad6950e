package condition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

// TestConfiguration: the agent applies one condition, so that its field manager owns
// nothing else of the add-on.
func TestConfiguration(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now := before.Add(time.Hour)
	meta := metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1", UID: "u"}
	tests := []struct {
		name    string
		present *metav1.Condition
		want    string
	}{
		{"the first", nil, "2026-01-01T01:00:00Z"},
		{"another status", &metav1.Condition{Status: metav1.ConditionFalse, LastTransitionTime: before}, "2026-01-01T01:00:00Z"},
		{"another status, by a hub whose clock is ahead", &metav1.Condition{Status: metav1.ConditionUnknown,
			LastTransitionTime: metav1.NewTime(now.Add(time.Minute))}, "2026-01-01T01:01:01Z"},
		{"another status within the second", &metav1.Condition{Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now)},
			"2026-01-01T01:00:01Z"},
		{"the same status", &metav1.Condition{Status: metav1.ConditionTrue, LastTransitionTime: before}, "2026-01-01T00:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body, err := Configuration(&AddOn{ObjectMeta: meta, Condition: test.present}, Of(State{Listed: true}), now)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ManagedClusterAddOn",` +
				`"metadata":{"namespace":"cluster1","name":"helloworld","uid":"u"},"status":{"conditions":[{"type":"ConfigMapsSynced",` +
				`"status":"True","lastTransitionTime":"` + test.want + `","reason":"Synced","message":"0 of 0 ConfigMaps synced"}]}}`
			if diff := cmp.Diff(want, string(body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewAddOnKeepsLittle(t *testing.T) {
	now := metav1.Now()
	ours := metav1.Condition{Type: "ConfigMapsSynced", Status: metav1.ConditionTrue}
	original := &addonv1alpha1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1", UID: "u", ResourceVersion: "7",
			DeletionTimestamp: &now, Labels: map[string]string{"a": "b"},
			Annotations: map[string]string{"helloworld.open-cluster-management.io/release-deletions": "true"}},
		Status: addonv1alpha1.ManagedClusterAddOnStatus{Conditions: []metav1.Condition{{Type: "Available"}, ours}},
	}
	want := &AddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1", UID: "u"}, Deleting: true, Released: true, Condition: &ours}
	if diff := cmp.Diff(want, NewAddOn(original)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
