package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// fakeRows is a database with the rows of one object.
type fakeRows struct {
	status.Reader
	rows       status.Object
	heartbeats status.Heartbeats
	reads      int
	// during is what happens while the rows are read.
	during func()
}

func (r *fakeRows) Read(_ context.Context, keys []status.Key) (status.Snapshot, error) {
	r.reads++
	if r.during != nil {
		r.during()
	}
	rows := r.rows
	rows.Key = keys[0]
	return status.Snapshot{Objects: []status.Object{rows}, Heartbeats: r.heartbeats, Rows: 1}, nil
}

// fakeHub is an API server with one object; refuse is its answer to a status of so
// many bytes.
type fakeHub struct {
	client.Client
	object  *unstructured.Unstructured
	refuse  func(size int) error
	patches int
	told    func(*unstructured.Unstructured)
}

func (h *fakeHub) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*unstructured.Unstructured).Object = h.object.DeepCopy().Object
	return nil
}

func (h *fakeHub) SubResource(string) client.SubResourceClient { return fakeStatus{hub: h} }

type fakeStatus struct {
	client.SubResourceClient
	hub *fakeHub
}

func (s fakeStatus) Patch(_ context.Context, answer client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := patch.Data(answer)
	if err != nil {
		return err
	}
	s.hub.patches++
	if s.hub.refuse != nil {
		if err := s.hub.refuse(len(data)); err != nil {
			return err
		}
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return err
	}
	s.hub.write(content["status"])
	answer.SetUID(s.hub.object.GetUID())
	answer.SetResourceVersion(s.hub.object.GetResourceVersion())
	return nil
}

// write has the object have a status; the watch tells of it.
func (h *fakeHub) write(content any) {
	h.object = h.object.DeepCopy()
	h.object.Object["status"] = content
	h.object.SetResourceVersion(h.object.GetResourceVersion() + "+")
	h.told(h.object)
}

// oneRule is a syncer of PlacementRules with one of them.
type oneRule struct {
	*kindSyncer
	t     *testing.T
	hub   *fakeHub
	rows  *fakeRows
	clock *testclock.FakeClock
	key   status.Key
}

func newOneRule(t *testing.T) *oneRule {
	t.Helper()
	r := &oneRule{t: t, clock: testclock.NewFakeClock(time.Unix(10_000, 0)), key: status.Key{Kind: status.KindPlacementRule, ID: "uid"}}
	r.rows = &fakeRows{rows: status.Object{Found: true, Namespace: "ns", Name: "rule"}}
	r.decisions("a")
	r.hub = &fakeHub{object: &unstructured.Unstructured{Object: map[string]any{}}}
	r.kindSyncer = newKindSyncer(kindEntry(t, status.KindPlacementRule), newTestKeys(t, r.clock, status.KindPlacementRule), kindSyncer{
		store: r.rows, live: r.hub, writer: r.hub, clock: r.clock, recorder: events.NewFakeRecorder(1000)})
	r.hub.told = func(o *unstructured.Unstructured) { r.objects.set(o.DeepCopy()) }
	r.hub.object.SetGroupVersionKind(r.entry.Object)
	r.hub.object.SetNamespace("ns")
	r.hub.object.SetName("rule")
	r.hub.object.SetUID("uid")
	r.objects.set(r.hub.object.DeepCopy())
	r.work()
	return r
}

// decisions are the rows' clusters.
func (r *oneRule) decisions(clusters ...string) {
	all := make([]string, 0, len(clusters))
	for _, cluster := range clusters {
		all = append(all, fmt.Sprintf(`{"clusterName":%q,"clusterNamespace":%q}`, cluster, cluster))
	}
	r.rows.rows.Payloads = []status.PayloadRow{{LeafHub: "hub1", Payload: []byte(`{"status":{"decisions":[` + strings.Join(all, ",") + `]}}`)}}
}

// work does what is in the queue now, and returns how many writes that were.
func (r *oneRule) work() int {
	r.t.Helper()
	before := r.hub.patches
	for range 1000 {
		if r.queue.Len() == 0 {
			return r.hub.patches - before
		}
		key, _ := r.queue.Get()
		r.take(r.t.Context(), key)
		r.queue.Done(key)
	}
	r.t.Fatal("it does not come to rest")
	return 0
}

// passes lets time pass until the queue has something, at most so long.
func (r *oneRule) passes(most time.Duration) (passed time.Duration) {
	r.t.Helper()
	for passed < most && r.queue.Len() == 0 {
		r.clock.Step(500 * time.Millisecond)
		passed += 500 * time.Millisecond
		for deadline := time.Now().Add(time.Millisecond); r.queue.Len() == 0 && time.Now().Before(deadline); {
			<-time.After(20 * time.Microsecond)
		}
	}
	return passed
}

// TestSyncDoubts: a sync tells the feed by which heartbeats it read.
func TestSyncDoubts(t *testing.T) {
	r := newOneRule(t)
	r.rows.heartbeats = heartbeatsOf(map[string]time.Duration{"hub1": time.Hour})
	r.queue.request(r.key, time.Time{})
	r.work()
	if !r.keys.doubted[r.key] {
		t.Error("the feed does not know that rows were read when their hub was stale")
	}
}

// TestFight: another writer undoes each of our writes. The first is corrected at
// once, the next ones with back-off; a change of rows is written at once.
func TestFight(t *testing.T) {
	r := newOneRule(t)
	r.queue.request(r.key, r.clock.Now())
	r.work()
	before := testutil.ToFloat64(failures.WithLabelValues(string(r.key.Kind), reasonContested))
	writes := 0
	for start := r.clock.Now(); r.clock.Since(start) < 5*time.Minute && writes < 100; {
		r.hub.write(map[string]any{"decisions": []any{}})
		r.passes(time.Minute)
		writes += r.work()
		if len(r.objects.digest(r.now())) == 0 {
			t.Fatal("it is not put right")
		}
	}
	// 9 in the first 51 s, then one in 30 s.
	if writes < 12 || writes > 25 {
		t.Errorf("%d writes in 5 minutes", writes)
	}
	if counted := testutil.ToFloat64(failures.WithLabelValues(string(r.key.Kind), reasonContested)) - before; int(counted) != writes-1 {
		t.Errorf("%d writes, %v of them contested", writes, counted)
	}
	r.hub.write(map[string]any{"decisions": []any{}})
	r.decisions("a", "b")
	r.queue.request(r.key, r.clock.Now())
	if passed := r.passes(time.Minute); passed > 0 || r.work() != 1 {
		t.Errorf("what the rows say waits %s", passed)
	}
	r.clock.Step(time.Hour)
	r.passes(10 * time.Millisecond)
	r.work()
	r.hub.write(map[string]any{"decisions": []any{}})
	if passed := r.passes(time.Minute); passed > 0 || r.work() != 1 {
		t.Errorf("after a quiet time a change by hand stays %s", passed)
	}
}

// TestFlood: rows change each millisecond while a sync of 300 ms runs. The next sync
// begins 300 ms after the end of this one, and covers all of these changes.
func TestFlood(t *testing.T) {
	r := newOneRule(t)
	before := r.rows.reads
	r.rows.during = func() {
		for range 300 {
			r.clock.Step(time.Millisecond)
			r.queue.request(r.key, r.clock.Now())
		}
	}
	r.queue.request(r.key, r.clock.Now())
	r.work()
	if syncs := r.rows.reads - before; syncs != 1 {
		t.Fatalf("%d syncs, want the second one to wait", syncs)
	}
	r.rows.during = nil
	r.clock.Step(299 * time.Millisecond)
	r.work()
	if syncs := r.rows.reads - before; syncs != 1 {
		t.Errorf("%d syncs within 299 ms after the end of the first", syncs)
	}
	r.clock.Step(time.Millisecond)
	r.passes(time.Second)
	r.work()
	if syncs := r.rows.reads - before; syncs != 2 || r.queue.Len() != 0 {
		t.Errorf("%d syncs and %d queued after 300 ms, want two syncs and none queued", syncs, r.queue.Len())
	}
}

func (r *oneRule) now() plan.Object { return objectOf(r.hub.object) }

// TestRoomAgain: a status that did not fit is written in full again when there is
// room, once everything was looked at; until then it is not tried in full, and an
// event says once that it is short.
func TestRoomAgain(t *testing.T) {
	r := newOneRule(t)
	recorder := events.NewFakeRecorder(1000)
	r.recorder = recorder
	clusters := make([]string, 0, 4000)
	for i := range 4000 {
		clusters = append(clusters, fmt.Sprintf("a-cluster-with-quite-a-long-name-%06d", i))
	}
	r.decisions(clusters...)
	r.hub.refuse = func(size int) error {
		if size > 200<<10 {
			return apierrors.NewRequestEntityTooLargeError("limit is 204800")
		}
		return nil
	}
	listed := func() int {
		list, _, err := unstructured.NestedSlice(r.hub.object.Object, "status", "decisions")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	settle := func() (writes int) {
		for range 8 {
			r.queue.request(r.key, time.Time{})
			writes += r.work()
			r.passes(2 * time.Second)
			writes += r.work()
		}
		return writes
	}
	settle()
	short := listed()
	if short == 0 || short == 4000 {
		t.Fatalf("%d clusters are listed where 4000 do not fit", short)
	}
	if writes := settle(); writes != 0 {
		t.Errorf("%d writes of what does not fit", writes)
	}
	r.shows(1)
	r.queue.endRound()
	if settle() == 0 || listed() != short {
		t.Errorf("in the next round it is not tried, or %d are listed", listed())
	}
	if said := len(recorder.Events); said != 1 {
		t.Errorf("%d events", said)
	}
	r.hub.refuse = nil
	settle()
	if listed() != short {
		t.Error("it was tried in full within the round")
	}
	r.queue.endRound()
	if settle(); listed() != 4000 {
		t.Errorf("when there is room %d are listed", listed())
	}
	r.shows(0)
}

// shows checks the metric of lists that were shortened.
func (r *oneRule) shows(want float64) {
	r.t.Helper()
	if got := testutil.ToFloat64(shortened.WithLabelValues(string(r.key.Kind))); got != want {
		r.t.Errorf("the metric says that %v objects have a shortened list, not %v", got, want)
	}
}

// TestForgotten: nothing is kept of an object that went.
func TestForgotten(t *testing.T) {
	r := newOneRule(t)
	for range 20 {
		r.queue.shrink(r.key)
	}
	r.decisions(slices.Repeat([]string{"a-cluster"}, 100)...)
	r.queue.request(r.key, time.Time{})
	r.work()
	r.shows(1)
	r.objects.unset(r.hub.object)
	if r.work(); len(r.queue.progress) != 0 {
		t.Error("the budget of an object that went is kept")
	}
	r.shows(0)
}
