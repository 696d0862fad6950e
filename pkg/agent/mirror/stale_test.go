package mirror

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

func TestStales(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("not today"))
	behind := &staleError{action: "update ConfigMap a", cause: conflict}
	type step struct {
		version string
		err     error
	}
	same := func(version string, times int) []step {
		steps := make([]step, times)
		for i := range steps {
			steps[i] = step{version, behind}
		}
		return steps
	}
	other := errors.New("no answer")
	tests := []struct {
		name, reason string
		steps        []step
		stale, raced bool
	}{
		{"once", "another writer was faster", same("1", 1), true, true},
		{"a few times", "the cache is behind", same("1", staleLimit-1), true, false},
		{"too often", "the API server refuses", same("1", staleLimit), false, false},
		{"and again", "it still refuses", same("1", staleLimit+3), false, false},
		{"no object in the cache", "a create that is refused counts as well", same("", staleLimit), false, false},
		{"a newer object", "the cache is not behind for good", append(same("1", staleLimit), step{"2", behind}), true, true},
		{"after a success", "what was before is over", append(same("1", staleLimit), step{"1", nil}, step{"2", behind}), true, true},
		{"on the version of a success", "the cache is behind the agent's own write", []step{{"1", nil}, {"1", behind}}, true, false},
		{"too often on the version of a success", "the API server refuses", append([]step{{"1", nil}}, same("1", staleLimit)...), false, false},
		{"another failure", "it is one like any other", []step{{"1", other}}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			counts := stales{}
			var err error
			var raced bool
			for _, s := range test.steps {
				raced, err = counts.judge(Action{Kind: Update, Name: "a"}, s.version, s.err)
			}
			if errors.Is(err, errStale) != test.stale || raced != test.raced {
				t.Errorf("%s: got %v, raced %t", test.reason, err, raced)
			}
		})
	}
	if got := behind.refused().Error(); !strings.HasSuffix(got, "not today") || strings.Contains(got, errStale.Error()) {
		t.Errorf("the refusal is %q", got)
	}
}

// TestConflictForGood: an admission plugin that answers 409 to every write is
// named, with its words, and not asked again and again.
func TestConflictForGood(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refusal := answer(http.StatusConflict, reason)
			refusal.ErrStatus.Message = `admission webhook "policy.example.com" denied the request`
			w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if r.Verb == "create" {
					return refusal
				}
				return nil
			}
			w.source("a", "1")
			w.start()
			w.eventually("named", func() bool { return len(w.controller.Failures()) == 1 })
			want := "create ConfigMap a: " + refusal.ErrStatus.Message
			if f := w.controller.Failures()[0]; f.Kind != Create || f.Reason != want {
				t.Errorf("told %v, want %q", f, want)
			}
			if s := w.controller.Summary(); len(s.Failed) != 1 || s.Pending != 0 {
				t.Errorf("summary %+v", s)
			}
			if got := len(writes(w.managed.Requests())); got > staleLimit {
				t.Errorf("%d writes until it was named", got)
			}
		})
	}
}
