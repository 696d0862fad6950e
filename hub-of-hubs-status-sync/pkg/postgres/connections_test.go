//go:build postgres

package postgres

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestReadsLeaveConnections: however many reads wait, what changed, the heartbeats and the probe are answered.
func TestReadsLeaveConnections(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := openURL(t, Options{URL: d.url + "&pool_max_conns=5", QueryTimeout: patience})
	_, at := look(t, store, "")
	d.exec("BEGIN")
	d.exec("LOCK TABLE status.compliance IN ACCESS EXCLUSIVE MODE")
	var reads errgroup.Group
	for range 20 {
		reads.Go(func() error {
			snapshot, err := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")})
			if err == nil && snapshot.Rows != 2 {
				t.Errorf("read %d rows, want 2", snapshot.Rows)
			}
			return err
		})
	}
	eventually(t, "the reads hold what they may", func(context.Context) bool { return store.pool.Stat().AcquiredConns() >= 2 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := store.Changes(ctx, at.Next); err != nil {
		t.Error(err)
	}
	if _, err := store.Heartbeats(ctx); err != nil {
		t.Error(err)
	}
	if err := store.Ping(ctx); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := store.Read(ended, nil); err == nil {
		t.Error("a read whose caller had given up waited for a connection")
	}
	d.exec("COMMIT")
	if err := reads.Wait(); err != nil {
		t.Error(err)
	}
}
