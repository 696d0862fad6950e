package reporter

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

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
		if total > batchBytes+2*bytes {
			t.Errorf("a batch has %d objects of %d bytes", len(batch.Objects), total)
		}
	}
	if got, least := len(l.database.batches), objects*bytes/(batchBytes+2*bytes); got < least || len(l.database.rows) != objects {
		t.Errorf("%d objects in %d batches, not %d in %d or more", len(l.database.rows), got, objects, least)
	}
}

func TestSize(t *testing.T) {
	clusters := observed{ref: status.ObjectRef{Kind: status.KindPolicy}, object: object(t, `{"status":{"status":[{},{}]}}`)}
	for _, c := range []struct {
		name string
		one  observed
		most int
	}{
		{"objects that went", observed{ref: status.ObjectRef{Kind: status.KindPlacement}}, batchObjects},
		{"policies of two clusters", clusters, batchObjects},
		{"large objects", observed{ref: status.ObjectRef{Kind: status.KindPlacement}, payload: make([]byte, 1<<20)}, batchBytes >> 20},
		{"policies of many clusters", observed{ref: clusters.ref, object: &unstructured.Unstructured{Object: map[string]any{
			"status": map[string]any{"status": make([]any, batchClusters/4)}}}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s size
			got := 0
			for ; !s.full(); got++ {
				s.add(c.one)
			}
			if got != c.most {
				t.Errorf("full after %d, not %d", got, c.most)
			}
		})
	}
}
