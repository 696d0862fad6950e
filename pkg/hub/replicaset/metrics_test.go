package replicaset

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

func TestRolloutTook(t *testing.T) {
	at := time.Unix(1000, 0)
	condition := func(status metav1.ConditionStatus, second int) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionRolledOut, Status: status, LastTransitionTime: metav1.NewTime(at.Add(time.Duration(second) * time.Second))}}
	}
	for _, test := range []struct {
		name, reason string
		before, now  []metav1.Condition
		want         time.Duration
		ended        bool
	}{
		{"ended", "False since it began", condition(metav1.ConditionFalse, 0), condition(metav1.ConditionTrue, 90), 90 * time.Second, true},
		{"continues", "it is not over", condition(metav1.ConditionFalse, 0), condition(metav1.ConditionFalse, 0), 0, false},
		{"begins", "it is not over", condition(metav1.ConditionTrue, 0), condition(metav1.ConditionFalse, 90), 0, false},
		{"idle", "it was over before", condition(metav1.ConditionTrue, 0), condition(metav1.ConditionTrue, 0), 0, false},
		{"clusters were not known", "when it began is not known", condition(metav1.ConditionUnknown, 0), condition(metav1.ConditionTrue, 90), 0, false},
		{"a new set that selects no cluster", "there was no rollout", nil, condition(metav1.ConditionTrue, 90), 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if took, ended := rolloutTook(test.before, test.now); took != test.want || ended != test.ended {
				t.Errorf("%s: got %v, %t", test.reason, took, ended)
			}
		})
	}
}
