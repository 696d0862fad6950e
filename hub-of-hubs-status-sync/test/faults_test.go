//go:build postgres

package hubofhubs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

var compliances = []string{"compliant", "non_compliant", "unknown"}

// churn changes rows of policies at random, n times.
func (w *world) churn(random *rand.Rand, ids []string, n int) {
	w.Helper()
	for range n {
		id := ids[random.IntN(len(ids))]
		hub, cluster := fmt.Sprintf("hub%d", random.IntN(3)), fmt.Sprintf("cluster%d", random.IntN(5))
		switch random.IntN(8) {
		case 0:
			w.exec("DELETE FROM status.compliance WHERE id = $1 AND leaf_hub_name = $2", id, hub)
		case 1:
			w.exec("UPDATE status.compliance SET compliance = $1 WHERE leaf_hub_name = $2", compliances[random.IntN(3)], hub)
		case 2:
			w.row("placementrules", hub, "rule", id, map[string]any{"status": map[string]any{"decisions": decisionsOfRule(cluster)}})
		default:
			w.comply(id, hub, cluster, compliances[random.IntN(3)])
		}
	}
}

func (w *world) policies(n int) []string {
	w.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, w.policy(fmt.Sprintf("policy%d", i)))
	}
	w.known(entryOf(status.KindPlacementRule).Object, "placementrules", "rule", map[string]any{}, status.KindPlacementRule)
	return ids
}

// TestAnyOrder: whatever changes in whatever order, of every kind, whichever leaf
// hubs go stale and come back, and whenever a syncer starts, stops or has a rival,
// the objects become what all rows say.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t)
			c := w.changer(seed, w.oneOfEach())
			c.most = 160
			changes := func(n int) {
				for range n {
					if c.change(); c.IntN(4) == 0 {
						c.lose()
					}
				}
			}
			changes(5)
			first := w.sync()
			changes(20)
			w.converge()
			rival := w.sync() // two by mistake
			changes(20)
			w.must(first.stop())
			changes(10)
			w.converge()
			w.must(rival.stop())
			changes(10) // no sync is running
			w.sync()
			w.converge()
		})
	}
}

// TestLeaderChanges: a leader goes in the middle of a sync, and the next one
// finishes its work.
func TestLeaderChanges(t *testing.T) {
	w := newWorld(t)
	ids := w.policies(30)
	elected := func(o *syncer.Options) { o.LeaderElect = true }
	slow := &gate{kind: status.KindPolicy}
	leader := w.syncBehind(slow, elected)
	for _, id := range ids {
		w.comply(id, "hub1", "a", "unknown")
	}
	w.converge()
	w.sync(elected)
	history := w.watchHistory()
	held := slow.shut()
	w.exec("UPDATE status.compliance SET compliance = 'compliant'")
	history.truth()
	w.wait(held)
	leader.cancel()
	w.exec("UPDATE status.compliance SET compliance = 'non_compliant'")
	history.truth()
	slow.open()
	w.must(leader.stop())
	history.check()
	w.field(status.KindPolicy, w.namespace, "policy29", "NonCompliant", "status", "compliant")
}

// TestAPIServerAway: what could not be written is written when the API server
// is back, and it is the newest truth.
func TestAPIServerAway(t *testing.T) {
	w := newWorld(t)
	ids := w.policies(10)
	target, err := url.Parse(address(hub))
	w.must(err)
	through := newProxy(t, target.Host)
	w.sync(func(o *syncer.Options) {
		o.Kubeconfig = w.kubeconfig("hub-of-hubs-status-sync", "https://"+through.address())
	})
	w.comply(ids[0], "hub1", "a", "unknown")
	w.converge()
	history := w.watchHistory()
	before := w.failures(status.KindPolicy, "api")
	through.set(true)
	for _, id := range ids {
		w.comply(id, "hub1", "a", "compliant")
		history.truth()
	}
	w.eventually("writes fail", func() error {
		if w.failures(status.KindPolicy, "api") == before {
			return errors.New("not yet")
		}
		return nil
	})
	w.exec("UPDATE status.compliance SET compliance = 'non_compliant'")
	history.truth()
	through.set(false)
	history.check()
	w.field(status.KindPolicy, w.namespace, "policy9", "NonCompliant", "status", "compliant")
}

// TestDatabaseKilled: while the database is away everything stays, and when it
// is back what it says is written.
func TestDatabaseKilled(t *testing.T) {
	w := newServerWorld(t, postgrestest.Options{Settings: map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}})
	ids := w.policies(5)
	w.churn(rand.New(rand.NewPCG(1, 1)), ids, 30)
	w.comply(ids[0], "hub1", "a", "non_compliant")
	w.sync()
	w.converge()
	before := w.version(status.KindPolicy, "policy0")
	w.must(w.server.Kill())
	// Long enough for several looks that fail.
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if w.version(status.KindPolicy, "policy0") != before {
			t.Fatal("something was written while the database was away")
		}
	}
	w.must(w.server.Resume(t.Context()))
	w.eventually("the database is back", func() error { return w.server.Ping(t.Context()) })
	w.comply(ids[0], "hub1", "new", "non_compliant")
	w.exec("DELETE FROM status.compliance WHERE id = $1", ids[1])
	w.converge()
}

// TestReadCut: connections to the database break while rows are read, again and
// again. A shorter truth is never written: the number of clusters only grows.
func TestReadCut(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.exec(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance)
SELECT $1, 'cluster' || i, 'hub1', 'none', 'compliant' FROM generate_series(1, 5000) i`, id)
	named, err := url.Parse(w.reader)
	w.must(err)
	through := newProxy(t, named.Host)
	named.Host = through.address()
	w.sync(func(o *syncer.Options) { o.DatabaseURL = named.String() })
	w.converge()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 15 {
		w.comply(id, "hub2", fmt.Sprintf("late%d", i), "compliant")
		for range 3 {
			// Somewhere in the notification, the question or the answer.
			<-time.After(time.Duration(random.IntN(20_000)) * time.Microsecond)
			through.set(true)
			through.set(false)
		}
		if got := w.clusters("policy"); got < 5000 {
			t.Fatalf("a policy of more than 5000 clusters was written with %d", got)
		}
	}
	w.converge()
}

func (w *world) clusters(name string) int {
	w.Helper()
	object, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, name)
	w.must(err)
	list, _, err := unstructured.NestedSlice(object.Object, "status", "status")
	w.must(err)
	return len(list)
}
