//go:build postgres

package hubofhubs

import (
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// beatSQL writes the heartbeat of a leaf hub that its report sent a number of
// seconds ago, and the heartbeat of another one that it sends now. The database's
// server has just started: a leaf hub is not stale when no other one beats.
const beatSQL = `INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name, last_timestamp, beat)
SELECT hub, at, tsrange(at, at + make_interval(secs => $3))
FROM (SELECT hub, now() AT TIME ZONE 'UTC' - make_interval(secs => age) AS at FROM (VALUES ($1, $2::float8), ('another', 0)) beats (hub, age)) beat
ON CONFLICT (leaf_hub_name) DO UPDATE SET last_timestamp = excluded.last_timestamp, beat = excluded.beat`

// beat writes the heartbeat that a leaf hub's report sent a time ago. It sends one
// each second.
func (w *world) beat(leafHub string, ago time.Duration) {
	w.Helper()
	w.beatEvery(time.Second, leafHub, ago)
}

func (w *world) beatEvery(interval time.Duration, leafHub string, ago time.Duration) {
	w.Helper()
	w.exec(beatSQL, leafHub, ago.Seconds(), interval.Seconds())
}

// TestBridgeTakesOver: a leaf hub that reported by this project's report, and died,
// reports by the original's transport bridge, which beats once an hour.
func TestBridgeTakesOver(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	w.migrate()
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "compliant")
	w.beat("hub1", time.Hour)
	w.sync()
	w.field(status.KindPolicy, w.namespace, "policy", []any{map[string]any{"clustername": "a", "clusternamespace": "a"}}, "status", "status")
	w.must(w.bridge().Beat(t.Context(), "hub1"))
	w.exec("UPDATE status.leaf_hub_heartbeats SET last_timestamp = last_timestamp - interval '59 minutes' WHERE leaf_hub_name = 'hub1'")
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
}

// TestDeadHubAfterRestart: while the database is down no leaf hub can beat. When it
// is back, one that was dead before is not believed, not even for a moment,
// whether the sync ran all the time or is started, too.
func TestDeadHubAfterRestart(t *testing.T) {
	for name, syncRestarts := range map[string]bool{"the sync runs": false, "the sync is started, too": true} {
		t.Run(name, func(t *testing.T) {
			w := newServerWorld(t, postgrestest.Options{})
			id := w.policy("policy")
			w.comply(id, "dead", "a", "compliant")
			w.beat("dead", 48*time.Hour)
			first := w.sync()
			w.converge()
			w.beatEvery(10*time.Second, "dead", 48*time.Hour)
			history := w.watchHistory()
			change := func(cluster string) {
				w.comply(id, "alive", cluster, "compliant")
				history.truth()
				w.converge()
			}
			if syncRestarts {
				w.must(first.stop())
			}
			w.must(w.server.Kill())
			w.must(w.server.Resume(t.Context()))
			w.eventually("the database is back", func() error {
				_, err := w.store.Read(t.Context(), w.keys)
				return err
			})
			if syncRestarts {
				w.sync()
			}
			change("b") // no hub has beaten yet
			w.beatEvery(10*time.Second, "alive", 0)
			change("c")
			// Long enough for several looks at the heartbeats.
			<-time.After(2 * time.Second)
			change("d")
			if count := history.check()[status.KindPolicy]; count < 3 {
				t.Errorf("%d writes were seen", count)
			}
		})
	}
}
