package ocm

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCreatable(t *testing.T) {
	established := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	conditions := func(status string) []any {
		return []any{
			map[string]any{"type": "NamesAccepted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			map[string]any{"type": "Established", "status": status, "lastTransitionTime": established.Format(time.RFC3339)},
		}
	}
	for _, test := range []struct {
		name       string
		conditions []any
		after      time.Duration
		want       bool
	}{
		{"a CRD without a status is not served", nil, time.Hour, false},
		{"a CRD that is not established is not served", conditions("False"), time.Hour, false},
		{"creates are delayed", conditions("True"), newCRD - time.Nanosecond, false},
		{"the delay has ended", conditions("True"), newCRD, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			crd := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": test.conditions}}}
			if got, err := creatable(crd, established.Add(test.after)); got != test.want || err != nil {
				t.Errorf("%t, %v, want %t", got, err, test.want)
			}
		})
	}
}
