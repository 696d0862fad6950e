//go:build postgres

package hubofhubs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestHeartbeat: a leaf hub whose API server does not answer does not beat, and
// what the database has of it stays.
func TestHeartbeat(t *testing.T) {
	w := newWorld(t)
	policy := w.onLeaf(entryOf(status.KindPolicy).Object, "policy", someID+"1",
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.leafStatus(policy, complianceStatus("a", "Compliant"))
	target, err := url.Parse(address(hub))
	w.must(err)
	through := newProxy(t, target.Host)
	w.report(func(o *reporter.Options) {
		o.Kubeconfig = w.kubeconfig("hub-of-hubs-status-report", "https://"+through.address())
		o.Heartbeat = time.Second
	})
	const last = `SELECT coalesce(max(last_timestamp)::text, '') FROM status.leaf_hub_heartbeats`
	beat := func() string {
		text, err := w.answer(last)
		w.must(err)
		return text
	}
	beats := func() {
		before := beat()
		w.eventually("it beats", func() error {
			if beat() == before {
				return errors.New("not yet")
			}
			return nil
		})
	}
	w.says(someID+"1 a compliant", allCompliance)
	beats()
	through.set(true)
	// A beat may be under way.
	<-time.After(time.Second)
	before := beat()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if beat() != before {
			t.Fatal("a leaf hub that does not answer beats")
		}
	}
	through.set(false)
	beats()
	w.says(someID+"1 a compliant", allCompliance)
}

// stubborn is a database that takes no batch, and everything else.
type stubborn struct {
	reporter.Store
	refuses atomic.Bool
	refused atomic.Int64
}

func (s *stubborn) Apply(ctx context.Context, leafHub string, batch status.Batch) (status.Result, error) {
	if s.refuses.Load() {
		s.refused.Add(1)
		return status.Result{}, errors.New("it takes nothing")
	}
	return s.Store.Apply(ctx, leafHub, batch)
}

// TestHeartbeatSaysTheTruth: a leaf hub that comes back does not beat before what
// it said long ago is put right.
func TestHeartbeatSaysTheTruth(t *testing.T) {
	w := newWorld(t)
	w.exec(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES ($1, 'x', 'leaf', 'none', 'compliant')`, someID+"1")
	store := &stubborn{}
	store.refuses.Store(true)
	w.reportThrough(func(s reporter.Store) reporter.Store {
		store.Store = s
		return store
	}, func(o *reporter.Options) { o.Heartbeat = time.Second })
	// Four tries in a row, with the pauses between them, are longer than the
	// heartbeat's interval.
	w.eventually("it tries to report", func() error {
		if n := store.refused.Load(); n < 4 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	const beats = `SELECT count(*)::text FROM status.leaf_hub_heartbeats`
	if got, err := w.answer(beats); err != nil || got != "0" {
		t.Errorf("%s heartbeats, %v, while the database has what was long ago", got, err)
	}
	store.refuses.Store(false)
	w.says("1", beats)
	if got, err := w.answer(allCompliance); err != nil || got != "" {
		t.Errorf("it beats, and the database still has %q, %v", got, err)
	}
}
