//go:build postgres

package hubofhubs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// noting notes whose rows are read, and can be deaf to notifications.
type noting struct {
	syncer.Store
	deaf bool

	mu   sync.Mutex
	keys []status.Key
}

func (n *noting) Read(ctx context.Context, keys []status.Key) (status.Snapshot, error) {
	n.mu.Lock()
	n.keys = append(n.keys, keys...)
	n.mu.Unlock()
	return n.Store.Read(ctx, keys)
}

func (n *noting) Listen(ctx context.Context, notify func()) error {
	if n.deaf {
		return errors.New("nothing is heard")
	}
	return n.Store.Listen(ctx, notify)
}

// read returns whose rows were read since the last time, each once.
func (n *noting) read() []status.Key {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := n.keys
	n.keys = nil
	slices.SortFunc(keys, func(a, b status.Key) int {
		return slices.Compare([]string{string(a.Kind), a.ID}, []string{string(b.Kind), b.ID})
	})
	return slices.Compact(keys)
}

func (w *world) syncNoting(n *noting, change ...func(*syncer.Options)) {
	w.Helper()
	w.syncThrough(func(store syncer.Store) syncer.Store {
		n.Store = store
		return n
	}, change...)
}

// quiet waits until no row is read any more: what was written comes back by the
// watch, and is known then.
func (w *world) quiet(n *noting) {
	w.Helper()
	w.eventually("it is quiet", func() error {
		n.read()
		for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
			if keys := n.read(); len(keys) > 0 {
				return errors.New("rows are read though nothing changes")
			}
		}
		return nil
	})
}

// TestReadsWhatChanged: while nothing changes no row is read, and when something
// does, those of its object alone.
func TestReadsWhatChanged(t *testing.T) {
	w := newWorld(t)
	w.oneOfEach()
	var policies []string
	for i := range 5 {
		policies = append(policies, w.policy(fmt.Sprintf("policy%d", i)))
		w.comply(policies[i], "hub1", "a", "compliant")
	}
	n := &noting{}
	w.syncNoting(n)
	w.converge()
	w.quiet(n)
	w.comply(policies[3], "hub1", "a", "unknown")
	w.converge()
	if diff := cmp.Diff([]status.Key{{Kind: status.KindPolicy, ID: policies[3]}}, n.read()); diff != "" {
		t.Errorf("whose rows were read (-want +got):\n%s", diff)
	}
}

// TestPrompt: a change is written when the database tells, however long the
// interval is; and at the interval when nothing is heard.
func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		name, interval string
		deaf           bool
	}{
		{"told", "1h", false},
		{"not told", "100ms", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.policy("policy")
			w.syncNoting(&noting{deaf: c.deaf}, func(o *syncer.Options) { o.Interval = c.interval })
			for _, compliance := range compliances {
				w.comply(id, "hub1", "a", compliance)
				w.converge()
			}
		})
	}
}
