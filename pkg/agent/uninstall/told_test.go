package uninstall

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

// TestHookTellsAHubThatWasAway: what could not be told is told as soon as it can
// be, though nothing has changed since.
func TestHookTellsAHubThatWasAway(t *testing.T) {
	c := newCluster(t)
	c.deaf.Store(true)
	c.putCopy("a", "example.com/hold")
	c.start(t.Context())
	start := c.clock.Now()
	c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
	c.deaf.Store(false)
	c.until("said", func() bool { return len(c.said) > 0 })
	if diff := cmp.Diff("removing the copies: 1 of 1 left: a (held by finalizers example.com/hold)", <-c.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHookSaysThatItFindsNoOwner: what keeps it from its first step is told like
// what keeps it from the last.
func TestHookSaysThatItFindsNoOwner(t *testing.T) {
	c := newCluster(t)
	c.ownerless.Store(true)
	c.putCopy("a")
	c.start(t.Context())
	c.until("said", func() bool { return len(c.said) > 0 })
	if diff := cmp.Diff("no owner to be found", <-c.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, c.names()); diff != "" {
		t.Errorf("it went on (-want +got):\n%s", diff)
	}
	c.ownerless.Store(false)
	c.untilEnded()
}

// TestHookIsNotHasty: copies that come back again and again, though an agent has
// answered, make it wait longer and longer, and are told.
func TestHookIsNotHasty(t *testing.T) {
	c := newCluster(t)
	var stop atomic.Bool
	var lists atomic.Int64
	c.api.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "list" && !stop.Load() {
			// The first list of each look shows none, the second one does.
			if lists.Add(1)%2 == 0 {
				c.putCopy("a")
			} else {
				c.api.Remove("configmaps", namespace, "a")
			}
		}
		return nil
	}
	c.start(t.Context())
	c.until("marked", c.marked)
	c.answer()
	start := c.clock.Now()
	c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
	if requests := len(c.api.Requests()); requests > 400 {
		t.Errorf("%d requests in 10 minutes", requests)
	}
	if said := <-c.said; said != "removing the copies: 1 of 1 left: a" {
		t.Errorf("it says %q", said)
	}
	stop.Store(true)
	c.untilEnded()
}
