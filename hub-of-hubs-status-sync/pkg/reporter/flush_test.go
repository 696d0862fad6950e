package reporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// policyOn has a policy of the global hub on a number of clusters.
func (l *leaf) policyOn(name string, clusters int) status.ObjectRef {
	var list []any
	for i := range clusters {
		list = append(list, map[string]any{"clustername": fmt.Sprintf("c%d", i), "compliant": "Compliant"})
	}
	policy := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"status": list}}}
	policy.SetAnnotations(map[string]string{plan.AnnotationOrigin: "id-" + name})
	ref := status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: name}
	l.objects[ref] = policy
	l.changed(ref)
	return ref
}

// TestFlushInBatches: what is too much for one batch is in the next ones, and
// nothing is lost or said twice.
func TestFlushInBatches(t *testing.T) {
	l := newLeaf(t)
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		l.policyOn(name, plan.MaxClusters/2+1)
		want = append(want, "id-"+name)
	}
	for i := range plan.MaxObjects + 10 {
		l.changed(status.ObjectRef{Kind: status.KindPlacementRule, Namespace: "ns", Name: fmt.Sprintf("r%04d", i)})
	}
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var policies []string
	removed := 0
	for i, batch := range l.database.batches {
		policies = append(policies, batch.CompletePolicies...)
		removed += len(batch.Removed)
		if len(batch.Compliance) > 2*plan.MaxClusters || len(batch.Removed)+len(batch.Objects)+len(batch.CompletePolicies) > plan.MaxObjects {
			t.Errorf("batch %d has %d clusters and %d removals", i, len(batch.Compliance), len(batch.Removed))
		}
	}
	slices.Sort(policies)
	if diff := cmp.Diff(want, policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if removed != plan.MaxObjects+10 || len(l.dirty) != 0 {
		t.Errorf("%d removed, %d left", removed, len(l.dirty))
	}
}

// TestBatchesAreBounded: large objects come in several batches, and all come.
func TestBatchesAreBounded(t *testing.T) {
	l := newLeaf(t)
	const objects, bytes = 100, 300 << 10
	for i := range objects {
		l.has(status.KindSubscriptionReport, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":"r%d"},"rest":%q}`, i, strings.Repeat("x", bytes)))
	}
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, batch := range l.database.batches {
		total := 0
		for _, entry := range batch.Objects {
			total += len(entry.Payload)
		}
		if total > plan.MaxBytes+2*bytes {
			t.Errorf("a batch has %d objects of %d bytes", len(batch.Objects), total)
		}
	}
	if got, least := len(l.database.batches), objects*bytes/(plan.MaxBytes+2*bytes); got < least || len(l.database.rows) != objects {
		t.Errorf("%d objects in %d batches, not %d in %d or more", len(l.database.rows), got, objects, least)
	}
}

// TestFlushFails: what the database did not take is due again, as it is then.
func TestFlushFails(t *testing.T) {
	l := newLeaf(t)
	l.database.refuses = errors.New("away")
	ref := l.policyOn("p", 1)
	if err := l.flush(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if !l.dirty[ref] || len(l.policies) != 0 {
		t.Errorf("due %v, reported %v", l.dirty, l.policies)
	}
	l.database.refuses = nil
	l.policyOn("p", 3)
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if batches := l.database.batches; len(batches) != 1 || len(batches[0].Compliance) != 3 {
		t.Errorf("batches %+v", batches)
	}
	if _, found := l.policies[ref]; !found || len(l.policies) != 1 {
		t.Errorf("reported %v, not %v alone", l.policies, ref)
	}
	delete(l.objects, ref)
	l.changed(ref)
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := l.database.batches[1]; len(last.Compliance) != 0 || !slices.Equal(last.CompletePolicies, []string{"id-p"}) {
		t.Errorf("after it went: %+v", last)
	}
}

// TestBeatsForTheLiving: a leaf hub that does not answer does not beat.
func TestBeatsForTheLiving(t *testing.T) {
	l := newLeaf(t)
	l.turns()
	l.alive = func(context.Context) error { return errors.New("no answer") }
	if err := l.beatOnce(t.Context()); err == nil || l.database.beats != 0 {
		t.Errorf("of a hub that does not answer: %d beats, %v", l.database.beats, err)
	}
	l.alive = func(context.Context) error { return nil }
	if err := l.beatOnce(t.Context()); err != nil || l.database.beats != 1 {
		t.Errorf("of one that does: %d beats, %v", l.database.beats, err)
	}
}
