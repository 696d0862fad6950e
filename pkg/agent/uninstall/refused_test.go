package uninstall

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

var (
	quota = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, marker,
		errors.New("exceeded quota: full, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2"))
	policy  = apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, marker, nil)
	webhook = apierrors.NewBadRequest(`admission webhook "labels.example.com" denied the request`)
)

func TestHookNeverGivesUp(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
	away := apierrors.NewServiceUnavailable("the API server is away")
	tests := []struct {
		name, verb string
		failure    *apierrors.StatusError
	}{
		{"an API server that is away", "create", away},
		{"an API server that cannot be read", "get", away},
		{"copies that may not be listed", "list", forbidden},
		{"copies that may not be deleted", "delete", forbidden},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.putCopy("a")
			var refuse atomic.Bool
			refuse.Store(true)
			c.api.Before = func(r fakeapi.Request) *apierrors.StatusError {
				if refuse.Load() && r.Verb == test.verb {
					return test.failure
				}
				return nil
			}
			c.start(t.Context())
			start := c.clock.Now()
			c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
			if len(c.ended) > 0 || c.api.Get("configmaps", namespace, "a") == nil {
				t.Fatal("it ended, or deleted what it must not")
			}
			if said := <-c.said; !strings.Contains(said, test.failure.ErrStatus.Message) {
				t.Errorf("it says %q", said)
			}
			if requests := len(c.api.Requests()); requests > 400 {
				t.Errorf("%d requests in 10 minutes", requests)
			}
			refuse.Store(false)
			c.untilEnded()
		})
	}
}

// TestHookGoesOnWithoutTheMarker: if the API server rejects the marker, the hook
// removes the copies without it and reports that.
func TestHookGoesOnWithoutTheMarker(t *testing.T) {
	for name, refusal := range map[string]*apierrors.StatusError{
		"a full quota": quota, "an admission policy": policy, "an admission webhook": webhook,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.putCopy("a")
			c.putLease("helloworld")
			start := c.clock.Now()
			c.api.Before = refuseCreate(func() *apierrors.StatusError { return refusal })
			c.start(t.Context())
			c.until("said that it cannot write the marker", func() bool { return len(c.said) > 0 })
			if said := <-c.said; !strings.HasPrefix(said, "write ConfigMap "+marker+": ") {
				t.Errorf("it says %q", said)
			}
			c.untilEnded()
			if took := c.clock.Since(start); took < 10*time.Second || took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
			if diff := cmp.Diff([]string(nil), c.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if said := <-c.said; !strings.HasPrefix(said, "continuing without the marker") || !strings.Contains(said, refusal.ErrStatus.Message) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// TestHookMarksWhenThereIsRoom: the quota has room once the copies are deleted. The
// marker then stops an agent that has lost the hub and restores them.
func TestHookMarksWhenThereIsRoom(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	c.api.Before = refuseCreate(func() *apierrors.StatusError {
		if c.api.Get("configmaps", namespace, "a") != nil {
			return quota
		}
		return nil
	})
	c.start(t.Context())
	c.until("marked", c.marked)
	c.putCopy("b") // as an agent that has lost the hub brings it back
	c.answer()
	c.untilEnded()
	if diff := cmp.Diff([]string{marker}, c.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// refuseCreate passes the requests that create a ConfigMap to answer.
func refuseCreate(answer func() *apierrors.StatusError) func(fakeapi.Request) *apierrors.StatusError {
	return func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "create" && r.Resource == "configmaps" {
			return answer()
		}
		return nil
	}
}

// TestHookTellsThatEveryCopyIsRemoved: the end is reported once, and a hub that does
// not answer does not block the hook.
func TestHookTellsThatEveryCopyIsRemoved(t *testing.T) {
	for name, away := range map[string]bool{"the hub answers": false, "the hub is away": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.putCopy("a", "example.com/hold")
			c.deaf.Store(away)
			c.start(t.Context())
			c.until("marked", c.marked)
			c.answer()
			c.until("the deletion is asked for", func() bool {
				return c.api.Get("configmaps", namespace, "a").GetDeletionTimestamp() != nil
			})
			if told := c.removed.Load(); told > 0 {
				t.Errorf("told %d times with a copy left", told)
			}
			cm := c.api.Get("configmaps", namespace, "a")
			cm.SetFinalizers(nil)
			c.api.Put("configmaps", cm)
			c.api.Remove("configmaps", namespace, "a")
			c.untilEnded()
			want := int32(1)
			if away {
				want = removedTries
			}
			if told := c.removed.Load(); told != want {
				t.Errorf("told %d times, want %d", told, want)
			}
		})
	}
}
