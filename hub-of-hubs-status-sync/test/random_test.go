//go:build postgres

package hubofhubs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// changer changes the rows of all kinds at random, as leaf hubs do.
type changer struct {
	*world
	*rand.Rand
	conn *pgx.Conn
	// ids are those of oneOfEach.
	ids  map[string]string
	step int
	// most is how many clusters a hub decides for at most.
	most int
}

func (w *world) changer(seed uint64, ids map[string]string) *changer {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.owner)
	w.must(err)
	w.Cleanup(func() { _ = conn.Close(context.WithoutCancel(w.Context())) })
	return &changer{world: w, Rand: rand.New(rand.NewPCG(seed, 11)), conn: conn, ids: ids, most: 20}
}

// change makes one change of every kind in one transaction. Every state of every
// kind is another one: the first hub's rows have the number of the step.
func (c *changer) change() {
	c.Helper()
	c.step++
	c.must(pgx.BeginFunc(c.Context(), c.conn, func(tx pgx.Tx) error {
		for _, write := range []func(pgx.Tx, string, string) error{
			c.policy, c.rule, c.placement, c.decision, c.statuses, c.report, c.addOn,
		} {
			if err := write(tx, "hub0", fmt.Sprintf("step-%04d", c.step)); err != nil {
				return err
			}
			if err := write(tx, c.hub(), "cluster-"+fmt.Sprint(c.IntN(5))); err != nil {
				return err
			}
		}
		return c.heartbeat(tx)
	}))
}

// lose takes all rows of a kind, or of a hub, away.
func (c *changer) lose() {
	c.Helper()
	table := c.one("compliance", "placementrules", "placements", "placementdecisions", "subscription_statuses",
		"subscription_reports", "managedclusteraddons")
	c.exec(c.one("TRUNCATE status."+table, "DELETE FROM status."+table, "DELETE FROM status."+table+" WHERE leaf_hub_name = 'hub1'"))
}

// hub is any but the first.
func (c *changer) hub() string { return fmt.Sprintf("hub%d", 1+c.IntN(2)) }

func (c *changer) one(of ...string) string { return of[c.IntN(len(of))] }

// heartbeat has a hub beat, or go stale.
func (c *changer) heartbeat(tx pgx.Tx) error {
	age := []time.Duration{0, 0, time.Duration(60+c.IntN(60)) * time.Minute}[c.IntN(3)]
	_, err := tx.Exec(c.Context(), beatSQL, fmt.Sprintf("hub%d", c.IntN(3)), age.Seconds(), 1.0)
	return err
}

func (c *changer) policy(tx pgx.Tx, hub, cluster string) error {
	if hub == "hub0" || c.IntN(6) == 0 {
		if _, err := tx.Exec(c.Context(), "DELETE FROM status.compliance WHERE id = $1 AND leaf_hub_name = $2", c.ids["policy"], hub); err != nil {
			return err
		}
	}
	_, err := tx.Exec(c.Context(), `INSERT INTO status.compliance VALUES ($1, $2, $3, $4::status.error_type, $5::status.compliance_type)
ON CONFLICT (leaf_hub_name, id, cluster_name) DO UPDATE SET error = excluded.error, compliance = excluded.compliance`,
		c.ids["policy"], cluster, hub, c.one("none", "none", "disconnected"), c.one(compliances...))
	return err
}

// put replaces a hub's row; another one than the first may also lose it.
func (c *changer) put(tx pgx.Tx, table, hub, namespace, name, id string, object map[string]any) error {
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"] = name, namespace
	payload, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if c.IntN(2) == 0 || hub != "hub0" && c.IntN(3) == 0 {
		if _, err := tx.Exec(c.Context(), "DELETE FROM status."+table+` WHERE leaf_hub_name = $1
AND payload -> 'metadata' ->> 'name' = $2 AND payload -> 'metadata' ->> 'namespace' = $3`, hub, name, namespace); err != nil {
			return err
		}
		if hub != "hub0" && c.IntN(2) == 0 {
			return nil
		}
	}
	_, err = tx.Exec(c.Context(), "INSERT INTO status."+table+` (id, leaf_hub_name, payload) VALUES ($1, $2, $3)
ON CONFLICT (leaf_hub_name, (payload -> 'metadata' ->> 'name'), (payload -> 'metadata' ->> 'namespace'))
DO UPDATE SET payload = excluded.payload`, id, hub, string(payload))
	return err
}

func (c *changer) rule(tx pgx.Tx, hub, cluster string) error {
	return c.put(tx, "placementrules", hub, c.namespace, "rule", c.ids["rule"],
		map[string]any{"status": map[string]any{"decisions": decisionsOfRule(cluster, c.one("x", "y"))}})
}

func (c *changer) placement(tx pgx.Tx, hub, _ string) error {
	groups := []any{}
	for i := range c.IntN(3) {
		groups = append(groups, map[string]any{"decisionGroupIndex": i, "decisionGroupName": []string{"canary", ""}[i],
			"decisions": []any{"any"}, "clusterCount": c.IntN(250)})
	}
	number := c.IntN(10)
	if hub == "hub0" {
		number = 100 * c.step
	}
	return c.put(tx, "placements", hub, c.namespace, "placement", c.ids["placement"], map[string]any{"status": map[string]any{
		"numberOfSelectedClusters": number, "decisionGroups": groups,
		"conditions": []any{map[string]any{"type": "PlacementSatisfied", "status": c.one("True", "False"),
			"reason": c.one("AllDecisionsScheduled", "NoManagedClusterMatched"), "message": "it is so", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}})
}

func (c *changer) decision(tx pgx.Tx, hub, cluster string) error {
	return c.put(tx, "placementdecisions", hub, c.namespace, "of-"+hub, someID+"1",
		decisionObject("placement", append(many(hub, c.IntN(c.most)), cluster)...))
}

func (c *changer) statuses(tx pgx.Tx, hub, name string) error {
	phase := c.one("Deployed", "Failed", "")
	return c.put(tx, "subscription_statuses", hub, c.namespace, "subscription", someID+"2", map[string]any{"statuses": map[string]any{
		"subscription": map[string]any{"phase": phase, "message": c.one("", "no quota"), "lastUpdateTime": "2026-01-01T00:00:00Z"},
		"packages": []any{map[string]any{"name": name, "kind": "Deployment", "phase": c.one("Deployed", "Failed", "PropagationFailed"),
			"lastUpdateTime": "2026-01-01T00:00:00Z"}}}})
}

func (c *changer) report(tx pgx.Tx, hub, source string) error {
	return c.put(tx, "subscription_reports", hub, c.namespace, "subscription", someID+"3", map[string]any{"reportType": "Application",
		"summary": map[string]any{"clusters": "3", "deployed": fmt.Sprint(c.IntN(3)), "failed": fmt.Sprint(c.IntN(3)), "inProgress": "0"},
		"results": []any{map[string]any{"source": source, "result": c.one("deployed", "failed"), "timestamp": map[string]any{"seconds": 1, "nanos": 0}}}})
}

func (c *changer) addOn(tx pgx.Tx, hub, _ string) error {
	return c.put(tx, "managedclusteraddons", hub, "cluster"+fmt.Sprint(c.IntN(3)), "helloworld", someID+"4", map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": c.one("True", "False", "Unknown")},
			map[string]any{"type": "ConfigMapsSynced", "status": c.one("True", "False"), "reason": c.one("Conflict", "Failed")}}}})
}
