package reporter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// policyRef names a policy.
func policyRef(name string) status.ObjectRef {
	return status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: name}
}

// from is a policy of the global hub that one cluster complies with; hour is when
// it was made on the leaf hub.
func from(name, id string, hour int, cluster string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"creationTimestamp":"2026-01-01T%02d:00:00Z",
"annotations":{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid":%q}},
"status":{"status":[{"clustername":%q,"compliant":"Compliant"}]}}`, name, hour, id, cluster)
}

// many are n different rejections.
func many(n int) []status.Rejection {
	var all []status.Rejection
	for i := range n {
		all = append(all, status.Rejection{Entry: fmt.Sprint(i), Reason: "bad"})
	}
	return all
}

// database holds rows as PostgreSQL does: a policy's by id and cluster, an
// object's by its name.
type database struct {
	mu      sync.Mutex
	rows    map[string]string
	batches []status.Batch
	beats   int
	// stated is the interval of the last heartbeat.
	stated  time.Duration
	refuses error
	// before is called before a batch is written.
	before func()
	// rejects are what of a batch is not taken.
	rejects []status.Rejection
	// limited is whether a call had a limit beside the store's own.
	limited bool
}

func (d *database) Apply(ctx context.Context, _ string, batch status.Batch) (status.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		d.before()
	}
	if d.refuses != nil {
		return status.Result{}, d.refuses
	}
	_, limited := ctx.Deadline()
	d.limited = d.limited || limited
	d.batches = append(d.batches, batch)
	maps.DeleteFunc(d.rows, func(row, _ string) bool {
		return slices.ContainsFunc(batch.CompletePolicies, func(id string) bool { return strings.HasPrefix(row, "Policy "+id+" ") }) ||
			slices.ContainsFunc(batch.Removed, func(ref status.ObjectRef) bool { return row == nameOf(ref) })
	})
	for _, entry := range batch.Compliance {
		d.rows["Policy "+entry.PolicyID+" "+entry.Cluster] = entry.Compliance
	}
	for _, entry := range batch.Objects {
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal(entry.Payload, &o.Object); err != nil {
			return status.Result{}, err
		}
		d.rows[nameOf(status.ObjectRef{Kind: entry.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})] = string(entry.Payload)
	}
	return status.Result{Rejected: d.rejects}, nil
}

func nameOf(ref status.ObjectRef) string {
	return fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name)
}

func (d *database) Present(ctx context.Context, _ string) (status.Inventory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, limited := ctx.Deadline()
	d.limited = d.limited || limited
	var there status.Inventory
	for row := range d.rows {
		kind, rest, _ := strings.Cut(row, " ")
		if kind == string(status.KindPolicy) {
			id, _, _ := strings.Cut(rest, " ")
			there.Policies = append(there.Policies, id)
			continue
		}
		namespace, name, _ := strings.Cut(rest, "/")
		there.Objects = append(there.Objects, status.ObjectRef{Kind: status.Kind(kind), Namespace: namespace, Name: name})
	}
	return there, nil
}

func (d *database) Heartbeat(_ context.Context, _ string, interval time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beats++
	d.stated = interval
	return nil
}

func (d *database) beaten() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.beats
}

// leaf is a leaf hub, and the reporter that watches it.
type leaf struct {
	*testing.T
	*reporter
	database *database
	clock    *clocktesting.FakeClock
	objects  map[status.ObjectRef]*unstructured.Unstructured
}

func newLeaf(t *testing.T) *leaf {
	t.Helper()
	l := &leaf{T: t, database: &database{rows: map[string]string{}}, objects: map[status.ObjectRef]*unstructured.Unstructured{},
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	l.reporter = newReporter(&Options{LeafHubName: "leaf", Interval: time.Second, Heartbeat: 10 * time.Second, Resync: time.Hour},
		l.database, l, l.clock)
	l.started = l.clock.Now()
	l.alive = func(context.Context) error { return nil }
	l.watcher = newWatcher(nil, l.clock, l.changed)
	for kind := range plan.Kinds {
		l.watcher.setSynced(kind, func() bool { return true })
	}
	return l
}

func (l *leaf) get(_ context.Context, ref status.ObjectRef) (*unstructured.Unstructured, error) {
	o, found := l.objects[ref]
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: string(ref.Kind)}, ref.Name)
	}
	return o.DeepCopy(), nil
}

// has an object on the leaf hub, and tells the reporter.
func (l *leaf) has(kind status.Kind, text string) {
	l.Helper()
	o := object(l.T, text)
	o.SetGroupVersionKind(plan.Kinds[kind])
	l.objects[status.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o
	l.watcher.observe(kind, o, true)
}

// goes from the leaf hub, and the reporter hears of it.
func (l *leaf) goes(ref status.ObjectRef) {
	o := l.objects[ref]
	delete(l.objects, ref)
	l.watcher.observe(ref.Kind, o, false)
}

func (l *leaf) turns() {
	l.Helper()
	if _, err := l.turn(l.Context()); err != nil {
		l.Fatal(err)
	}
}

// TestTurnsEnd: what changes while a turn writes is for the next turn. A hub
// that is never quiet would else be written without a pause, and never compared.
func TestTurnsEnd(t *testing.T) {
	l := newLeaf(t)
	const rule = `{"metadata":{"namespace":"ns","name":"r","annotations":{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid":"global"}},"n":%d}`
	l.has(status.KindPlacementRule, fmt.Sprintf(rule, 0))
	changes := 0
	l.database.before = func() {
		if changes++; changes < 100 {
			l.has(status.KindPlacementRule, fmt.Sprintf(rule, changes))
		}
	}
	l.turns()
	if changes > 3 {
		t.Errorf("one turn wrote %d batches", changes)
	}
	last := fmt.Sprintf(`"n":%d`, changes)
	changes = 100
	l.turns()
	if diff := cmp.Diff(1, len(l.database.rows)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if entry := l.database.batches[len(l.database.batches)-1].Objects[0]; !strings.Contains(string(entry.Payload), last) {
		t.Errorf("the last change is %s, and written is %s", last, entry.Payload)
	}
}

// TestNothingIsLost: what changed while the database was away is written, as it is
// when it is back.
func TestNothingIsLost(t *testing.T) {
	l := newLeaf(t)
	l.turns()
	l.database.refuses = errors.New("away")
	const addOn = `{"metadata":{"namespace":"cluster1","name":"helloworld","uid":"u"},"n":%d}`
	l.has(status.KindManagedClusterAddOn, fmt.Sprintf(addOn, 1))
	if _, err := l.turn(t.Context()); !errors.Is(err, l.database.refuses) {
		t.Fatalf("the error is %v", err)
	}
	l.has(status.KindManagedClusterAddOn, fmt.Sprintf(addOn, 2))
	l.database.refuses = nil
	l.turns()
	if got := l.database.rows["ManagedClusterAddOn cluster1/helloworld"]; !strings.Contains(got, `"n":2`) {
		t.Errorf("the row is %q", got)
	}
}

// TestOneLimit: only the store limits how long a batch may take: of two limits, one
// would never apply.
func TestOneLimit(t *testing.T) {
	l := newLeaf(t)
	l.has(status.KindManagedCluster, `{"metadata":{"name":"cluster1"}}`)
	l.turns()
	if len(l.database.batches) == 0 || l.database.limited {
		t.Errorf("%d batches, limited by the reporter: %v", len(l.database.batches), l.database.limited)
	}
}

// TestRejectedIsSaidOnce: an entry that the database does not take comes again at
// every change of its object, and fills no log. What was well meanwhile is news.
func TestRejectedIsSaidOnce(t *testing.T) {
	l := newLeaf(t)
	var log bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	l.database.rejects = many(500)
	for i := range 3 {
		l.has(status.KindManagedCluster, fmt.Sprintf(`{"metadata":{"name":"cluster1"},"n":%d}`, i))
		l.clock.Step(2 * time.Hour) // everything is compared
		if _, err := l.turn(ctx); err != nil {
			t.Fatal(err)
		}
	}
	l.database.rejects = nil
	for range 2 { // all is well for two comparisons
		l.clock.Step(2 * time.Hour)
		if _, err := l.turn(ctx); err != nil {
			t.Fatal(err)
		}
	}
	l.database.rejects = many(1)
	l.clock.Step(2 * time.Hour)
	if _, err := l.turn(ctx); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"9: bad"] more=490`) {
		t.Errorf("the log is\n%s", got)
	}
}

// TestFormerLeader: a reporter that was leader before writes late what it knew
// then. It does not stay: everything is compared once more when it must be over.
func TestFormerLeader(t *testing.T) {
	l := newLeaf(t)
	l.has(status.KindPolicy, from("p", "g", 1, "a"))
	l.turns()
	late := status.Batch{CompletePolicies: []string{"g", "h"}, Compliance: []status.ComplianceEntry{
		{PolicyID: "g", Cluster: "a", Compliance: "unknown"}, {PolicyID: "h", Cluster: "a", Compliance: "unknown"}}}
	if _, err := l.database.Apply(t.Context(), "leaf", late); err != nil {
		t.Fatal(err)
	}
	l.clock.Step(plan.FormerLeader)
	l.turns()
	if diff := cmp.Diff(map[string]string{"Policy g a": "compliant"}, l.database.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	before := len(l.database.batches)
	l.clock.Step(plan.FormerLeader)
	l.turns()
	if got := len(l.database.batches) - before; got != 0 {
		t.Errorf("%d batches when nothing is due", got)
	}
}

// TestCopiedPolicy: whatever becomes of a copy, the rows are the original's as
// long as that is there.
func TestCopiedPolicy(t *testing.T) {
	l := newLeaf(t)
	is := func(when string, want map[string]string) {
		t.Helper()
		l.turns()
		if diff := cmp.Diff(want, l.database.rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	original, copied := map[string]string{"Policy g a": "compliant"}, map[string]string{"Policy g b": "compliant"}
	l.has(status.KindPolicy, from("p", "g", 1, "a"))
	is("the original", original)
	l.has(status.KindPolicy, from("copy", "g", 2, "b"))
	is("with a copy", original)
	l.goes(policyRef("copy"))
	is("without it", original)
	l.has(status.KindPolicy, from("copy", "g", 2, "b"))
	is("with a copy again", original)
	l.goes(policyRef("p"))
	is("the copy alone", copied)
	l.goes(policyRef("copy"))
	is("neither", map[string]string{})
}
