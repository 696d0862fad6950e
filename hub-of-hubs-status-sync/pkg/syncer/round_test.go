package syncer

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// syncedCache is a cache whose kinds have no objects.
type syncedCache struct{ cache.Cache }

func (syncedCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &controllertest.FakeInformer{Synced: true}, nil
}

// readKeys passes on the keys whose rows are read. The database has none.
type readKeys struct {
	status.Reader
	keys chan status.Key
}

func (r readKeys) Read(_ context.Context, keys []status.Key) (status.Snapshot, error) {
	for _, key := range keys {
		r.keys <- key
	}
	return status.Snapshot{}, nil
}

// TestRoundSyncsOrphans: the running syncer follows each round of the feed, and ends
// with its context.
func TestRoundSyncsOrphans(t *testing.T) {
	keys := newTestKeys(t, clock.RealClock{}, status.KindAddOnSummary)
	read := readKeys{keys: make(chan status.Key)}
	k := newKindSyncer(kindEntry(t, status.KindAddOnSummary), keys,
		kindSyncer{store: read, live: &rights{}, caches: syncedCache{}, clock: clock.RealClock{}, workers: 1})
	// The syncer wrote the object: no watch event leads to its key.
	k.objects.learn("u", "1", "digest")
	k.objects.set(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", UID: "u", ResourceVersion: "1"}})
	keys.publish(status.Heartbeats{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Start(ctx) }()
	for range 2 {
		keys.endRound()
		select {
		case key := <-read.keys:
			if want := (status.Key{Kind: status.KindAddOnSummary, ID: "helloworld"}); key != want {
				t.Errorf("the rows of %v are read, want those of %v", key, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no rows are read after a round")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
