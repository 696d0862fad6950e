package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const (
	addOnName = "helloworld"
	// addOnBatch is how many add-ons are loaded at once.
	addOnBatch = 1000
	// churnBatch add-ons are written each churnPeriod, which is 1,000 a second.
	churnBatch  = 100
	churnPeriod = 100 * time.Millisecond
)

// addOnPayload is a ManagedClusterAddOn as a leaf hub has it. Its message changes with note, which no count depends on.
func addOnPayload(hub, cluster int, available bool, note int64) status.ObjectEntry {
	value := "True"
	if !available {
		value = "False"
	}
	condition := func(kind, value, reason, message string) string {
		return fmt.Sprintf(`{"type": %q, "status": %q, "reason": %q, "message": %q, "lastTransitionTime": "2026-01-01T00:00:00Z"}`,
			kind, value, reason, message)
	}
	payload := fmt.Sprintf(`{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
"metadata": {"name": %q, "namespace": "%s-cluster%05d", "uid": "%08x-0000-4000-8000-%012x", "resourceVersion": "%d"},
"spec": {"installNamespace": "open-cluster-management-agent-addon"}, "status": {"conditions": [%s, %s, %s, %s]}}`,
		addOnName, hubName(hub), cluster, hub, cluster, note,
		condition("Available", value, "ManagedClusterAddOnLeaseUpdated", addOnName+" add-on is available."),
		condition("ConfigMapsSynced", "True", "Synced", fmt.Sprintf("all 12 ConfigMaps synced; change %d", note)),
		condition("ManifestApplied", "True", "AddonManifestApplied", "manifests of addon are applied successfully"),
		condition("RegistrationApplied", "True", "SetPermissionApplied", "Registration of the addon agent is configured"))
	return status.ObjectEntry{Kind: status.KindManagedClusterAddOn, ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", hub, cluster),
		Payload: []byte(payload)}
}

// loadAddOns writes all add-ons by the reporter's way of writing.
func (b *bench) loadAddOns(ctx context.Context) error {
	clusters := b.options.AddOns / b.options.Hubs
	b.rows = &rows{expected: map[string]int{addOnName: b.options.Hubs * (clusters - (clusters+badEvery-1)/badEvery)}}
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(b.options.Writers)
	start := time.Now()
	for hub := range b.options.Hubs {
		group.Go(func() error {
			for first := 0; first < clusters; first += addOnBatch {
				var batch status.Batch
				for cluster := first; cluster < min(first+addOnBatch, clusters); cluster++ {
					batch.Objects = append(batch.Objects, addOnPayload(hub, cluster, cluster%badEvery != 0, 0))
				}
				if _, err := b.store.Apply(loading, hubName(hub), batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(start)
	if _, err := b.conn.Exec(ctx, "VACUUM (ANALYZE) status.managedclusteraddons"); err != nil {
		return err
	}
	return b.size(ctx, "(a) load of the add-ons, by the reporter's way of writing", "loadSeconds", took,
		fmt.Sprintf(", %.0f rows/s", perSecond(b.options.Hubs*clusters, took)))
}

// oneAddOn changes one add-on at a time; then again, while the add-ons of the first hub change all the time.
func (b *bench) oneAddOn(ctx context.Context) error {
	if err := b.flipAddOns(ctx, "(a) one add-on changed until the AddOnSummary is right", "oneAddOn"); err != nil {
		return err
	}
	churning, stop := context.WithCancel(ctx)
	var changed atomic.Int64
	done := make(chan error, 1)
	go func() { done <- b.churn(churning, &changed) }()
	start := time.Now()
	err := b.flipAddOns(ctx, "(a) the same while a hub's add-ons change", "oneAddOnChurn")
	b.table.add("    add-ons of that hub changed", "%.0f a second", perSecond(int(changed.Load()), time.Since(start)))
	stop()
	return errors.Join(err, <-done)
}

// churn changes the messages of the first hub's add-ons until the context ends.
func (b *bench) churn(ctx context.Context, changed *atomic.Int64) error {
	clusters := b.options.AddOns / b.options.Hubs
	ticker := time.NewTicker(churnPeriod)
	defer ticker.Stop()
	for next := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		var batch status.Batch
		for range churnBatch {
			batch.Objects = append(batch.Objects, addOnPayload(0, next%clusters, next%clusters%badEvery != 0, int64(next+1)))
			next++
		}
		if _, err := b.store.Apply(ctx, hubName(0), batch); err != nil && ctx.Err() == nil {
			return fmt.Errorf("change the add-ons of a hub: %w", err)
		}
		changed.Add(churnBatch)
	}
}

// flipAddOns changes one add-on at a time, of any hub but the first.
func (b *bench) flipAddOns(ctx context.Context, what, figure string) error {
	random := rand.New(rand.NewPCG(1, 2))
	before, err := b.work()
	if err != nil {
		return err
	}
	var total []time.Duration
	for i := range b.options.Flips {
		// one cluster goes and comes back
		hub, cluster := 1+random.IntN(b.options.Hubs-1), 1+random.IntN(badEvery-1)
		for _, available := range []bool{false, true} {
			b.rows.expected[addOnName] += map[bool]int{false: -1, true: 1}[available]
			start := time.Now()
			batch := status.Batch{Objects: []status.ObjectEntry{addOnPayload(hub, cluster, available, int64(i))}}
			if _, err := b.store.Apply(ctx, hubName(hub), batch); err != nil {
				return err
			}
			last, err := b.await(ctx)
			if err != nil {
				return err
			}
			total = append(total, last.Sub(start))
		}
	}
	spent, err := b.since(before)
	if err != nil {
		return err
	}
	b.table.latencies(what, figure, total, spent)
	return nil
}
