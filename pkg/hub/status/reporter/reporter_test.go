package reporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
)

// leaf has objects by kind and name.
type leaf map[string]*unstructured.Unstructured

func (l leaf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind().Kind
	found, ok := l[kind+"/"+key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	found.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (l leaf) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nobody lists")
}

// fakeWriter is a database that keeps the batches, and can be away.
type fakeWriter struct {
	away    bool
	batches []status.Batch
	beats   int
}

func (f *fakeWriter) Apply(_ context.Context, _ string, batch status.Batch) (status.Result, error) {
	if f.away {
		return status.Result{}, errors.New("away")
	}
	f.batches = append(f.batches, batch)
	return status.Result{}, nil
}

func (f *fakeWriter) Present(context.Context, string) (status.Inventory, error) {
	return status.Inventory{}, nil
}

func (f *fakeWriter) Heartbeat(context.Context, string) error {
	f.beats++
	return nil
}

func newTestReporter(store *fakeWriter, objects leaf) *reporter {
	return &reporter{leafHub: "hub1", store: store, objects: objects, clock: clock.RealClock{}, interval: time.Millisecond,
		dirty: map[status.ObjectRef]bool{}, poke: make(chan struct{}, 1), reported: reported{}}
}

// policyOn is a policy of the global hub on a number of clusters.
func policyOn(name string, clusters int) *unstructured.Unstructured {
	var list []any
	for i := range clusters {
		list = append(list, map[string]any{"clustername": fmt.Sprintf("c%d", i), "compliant": "Compliant"})
	}
	policy := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"status": list}}}
	policy.SetName(name)
	policy.SetAnnotations(map[string]string{AnnotationOrigin: "id-" + name})
	return policy
}

// TestFlushInBatches: what is too much for one batch is in the next ones, and
// nothing is lost or said twice.
func TestFlushInBatches(t *testing.T) {
	store, objects := &fakeWriter{}, leaf{}
	r := newTestReporter(store, objects)
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		objects["Policy/"+name] = policyOn(name, batchClusters/2+1)
		want = append(want, "id-"+name)
		r.changed(status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: name})
	}
	for i := range batchObjects + 10 {
		r.changed(status.ObjectRef{Kind: status.KindPlacementRule, Namespace: "ns", Name: fmt.Sprintf("r%04d", i)})
	}
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var policies []string
	removed := 0
	for i, batch := range store.batches {
		policies = append(policies, batch.CompletePolicies...)
		removed += len(batch.Removed)
		if len(batch.Compliance) > 2*batchClusters || len(batch.Removed)+len(batch.Objects)+len(batch.CompletePolicies) > batchObjects {
			t.Errorf("batch %d has %d clusters and %d removals", i, len(batch.Compliance), len(batch.Removed))
		}
	}
	slices.Sort(policies)
	if diff := cmp.Diff(want, policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if removed != batchObjects+10 || len(r.dirty) != 0 {
		t.Errorf("%d removed, %d left", removed, len(r.dirty))
	}
}

// TestFlushFails: what the database did not take is due again, as it is then.
func TestFlushFails(t *testing.T) {
	store, objects := &fakeWriter{away: true}, leaf{"Policy/p": policyOn("p", 1)}
	r := newTestReporter(store, objects)
	ref := status.ObjectRef{Kind: status.KindPolicy, Namespace: "ns", Name: "p"}
	r.changed(ref)
	if err := r.flush(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if !r.dirty[ref] || len(r.reported) != 0 {
		t.Errorf("due %v, reported %v", r.dirty, r.reported)
	}
	store.away = false
	objects["Policy/p"] = policyOn("p", 3)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(store.batches) != 1 || len(store.batches[0].Compliance) != 3 {
		t.Errorf("batches %+v", store.batches)
	}
	if diff := cmp.Diff(reported{ref: "id-p"}, r.reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	delete(objects, "Policy/p")
	r.changed(ref)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := store.batches[1]; len(last.Compliance) != 0 || !slices.Equal(last.CompletePolicies, []string{"id-p"}) {
		t.Errorf("after it went: %+v", last)
	}
}

// TestBeatsForTheLiving: a leaf hub that does not answer does not beat.
func TestBeatsForTheLiving(t *testing.T) {
	store := &fakeWriter{}
	r := newTestReporter(store, nil)
	r.alive = func(context.Context) error { return errors.New("no answer") }
	if err := r.beatOnce(t.Context()); err == nil || store.beats != 0 {
		t.Errorf("of a hub that does not answer: %d beats, %v", store.beats, err)
	}
	r.alive = func(context.Context) error { return nil }
	if err := r.beatOnce(t.Context()); err != nil || store.beats != 1 {
		t.Errorf("of one that does: %d beats, %v", store.beats, err)
	}
}
