package mirror

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

func TestNextRemnant(t *testing.T) {
	failed := errors.New("no answer")
	before := &metav1.ObjectMeta{Labels: map[string]string{"team": "blue"}}
	replaced := metav1.ObjectMeta{Labels: map[string]string{"team": "green"}}
	tests := []struct {
		name, reason string
		kind         Kind
		err          error
		want         *metav1.ObjectMeta
	}{
		{"replaced", "the copy has it all", Replace, nil, nil},
		{"deleted, not created", "it is in memory alone now", Replace, failed, &replaced},
		{"not created either", "it is still needed", Create, failed, before},
		{"created", "the copy has it all", Create, nil, nil},
		{"no longer wanted", "there is no copy to put it on", Ignore, failed, nil},
		{"somebody else's object came", "the copy is not created", Conflict, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			action := Action{Kind: test.kind, Object: &corev1.ConfigMap{ObjectMeta: replaced}}
			if diff := cmp.Diff(test.want, nextRemnant(before, action, test.err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestReplaceKeepsWhatOthersAdded: also when the copy is deleted and the API
// server refuses the create at first.
func TestReplaceKeepsWhatOthersAdded(t *testing.T) {
	w := newWorld(t)
	w.target("fixed", "1", owned, immutable, label("team", "blue"))
	w.source("fixed", "2", immutable)
	var refused atomic.Int32
	w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "create" && refused.Add(1) <= 3 {
			return apierrors.NewInternalError(errors.New("no"))
		}
		return nil
	}
	w.start()
	w.eventuallyValue("fixed", "2")
	if refused.Load() < 4 {
		t.Fatalf("%d creates, want the first three refused", refused.Load())
	}
	if diff := cmp.Diff("blue", w.get("fixed").Labels["team"]); diff != "" {
		t.Errorf("somebody's label (-want +got):\n%s", diff)
	}
}
