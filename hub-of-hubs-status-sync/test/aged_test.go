//go:build postgres

package hubofhubs

import (
	"context"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// aged is a database that started long ago. The tests' own has just done so, and then no leaf hub is stale.
type aged struct{ syncer.Store }

func (a aged) Heartbeats(ctx context.Context) (status.Heartbeats, error) {
	heartbeats, err := a.Store.Heartbeats(ctx)
	return age(heartbeats), err
}

func (a aged) Read(ctx context.Context, keys []status.Key) (status.Snapshot, error) {
	snapshot, err := a.Store.Read(ctx, keys)
	snapshot.Heartbeats = age(snapshot.Heartbeats)
	return snapshot, err
}

func age(heartbeats status.Heartbeats) status.Heartbeats {
	heartbeats.Started = heartbeats.Started.Add(-24 * time.Hour)
	return heartbeats
}
