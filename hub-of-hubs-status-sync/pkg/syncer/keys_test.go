package syncer

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// TestQueueForgets: of a key whose objects are gone nothing is remembered, and an
// idle key with nothing to remember has no entry.
func TestQueueForgets(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	queue := newTestKeys(t, clock, status.KindPolicy).queues[status.KindPolicy]
	gone, other := policyKey("gone"), policyKey("other")
	for _, key := range []status.Key{gone, other} {
		queue.touch(key, plan.ReadRows)
		queue.begin(key)
		queue.shrink(key)
		queue.wrote(key)
		queue.setShortened(key, true)
		queue.end(key, time.Minute, nil)
	}
	if got := queue.countShortened(); got != 2 {
		t.Errorf("%d keys have shortened lists, want 2", got)
	}
	queue.forget(gone)
	if _, found := queue.progress[gone]; found || len(queue.progress) != 1 || queue.countShortened() != 1 {
		t.Errorf("remembered are %v", queue.progress)
	}
	if queue.budget(other) == status.Budget {
		t.Error("the other key's budget is forgotten")
	}
	queue.endRound()
	if queue.budget(other) != status.Budget {
		t.Error("a new round does not try the whole status")
	}
	queue.request(gone, time.Time{})
	queue.begin(gone)
	queue.end(gone, 0, nil)
	if _, found := queue.progress[gone]; found {
		t.Error("an idle key has an entry")
	}
}

// TestKeysOfUnknownKinds: a change of a kind that is not synced is ignored.
func TestKeysOfUnknownKinds(t *testing.T) {
	k := newTestKeys(t, testclock.NewFakeClock(time.Unix(1000, 0)), status.KindPolicy)
	k.request(status.Key{Kind: "Other", ID: "id"}, time.Time{})
	if got := k.queues[status.KindPolicy].Len(); got != 0 {
		t.Errorf("%d keys are queued", got)
	}
}

// TestFirstPublish: at the start every key is requested anyway, so no hub counts as changed.
func TestFirstPublish(t *testing.T) {
	k := newTestKeys(t, testclock.NewFakeClock(time.Unix(1000, 0)))
	old := heartbeatsOf(map[string]time.Duration{"hub1": time.Hour})
	stale, changed := k.publish(old)
	if len(stale) != 1 || len(changed) != 0 {
		t.Errorf("stale are %v, changed %v, want hub1 and none", stale, changed)
	}
	select {
	case <-k.ready:
	default:
		t.Error("the syncers still wait")
	}
	old.Last["hub1"] = old.Now
	if stale, changed = k.publish(old); len(stale) != 0 || len(changed) != 1 {
		t.Errorf("stale are %v, changed %v, want none and hub1", stale, changed)
	}
}
