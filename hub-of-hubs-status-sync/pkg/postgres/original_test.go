//go:build postgres

package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
)

// originalDatabase is a database of the original hub of hubs that was not migrated.
func originalDatabase(t *testing.T) *database {
	t.Helper()
	d := emptyDatabase(t, shared)
	if err := original.Create(t.Context(), d.server, d.url); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *database) bridge() *original.Bridge {
	d.tb.Helper()
	bridge, err := original.NewBridge(d.tb.Context(), d.server, d.url)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.tb.Cleanup(func() { _ = bridge.Close(d.tb.Context()) })
	return bridge
}

// TestOriginalWriter: each statement of the transport bridge has its effect, before and after the migrations.
func TestOriginalWriter(t *testing.T) {
	const (
		compliance = "coalesce(string_agg(right(id::text, 1) || cluster_name || ' ' || compliance, ', ' ORDER BY id, cluster_name), '') FROM status.compliance"
		payloads   = "coalesce(string_agg(right(id::text, 1) || ' ' || (payload ->> 'v'), ', ' ORDER BY id), '') FROM status.placements"
		clusters   = "coalesce(string_agg(payload ->> 'v', ', ' ORDER BY payload ->> 'v'), '') FROM status.managed_clusters"
	)
	payload := func(name, value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns"}, "v": value}
	}
	steps := []struct {
		batch       original.Batch
		query, want string
	}{
		{original.Policies{LeafHub: "hub1", Insert: []original.Cluster{{Policy: id("1"), Name: "a", Compliance: "compliant"},
			{Policy: id("1"), Name: "b", Compliance: "compliant"}, {Policy: id("2"), Name: "a", Compliance: "unknown"}}},
			compliance, "1a compliant, 1b compliant, 2a unknown"},
		{original.Policies{LeafHub: "hub1", Update: []original.Cluster{{Policy: id("1"), Name: "b", Compliance: "non_compliant"}},
			UpdatePolicies: []original.Cluster{{Policy: id("2"), Compliance: "compliant"}}},
			compliance, "1a compliant, 1b non_compliant, 2a compliant"},
		{original.Policies{LeafHub: "hub1", Delete: []original.Cluster{{Policy: id("1"), Name: "b"}}, DeletePolicies: []string{id("2")}},
			compliance, "1a compliant"},
		{original.Objects{Table: "placements", LeafHub: "hub1", Insert: []original.Object{{ID: id("1"), Payload: payload("p", "one")},
			{ID: id("2"), Payload: payload("q", "one")}}}, payloads, "1 one, 2 one"},
		{original.Objects{Table: "placements", LeafHub: "hub1", Update: []original.Object{{ID: id("1"), Payload: payload("p", "two")}},
			Delete: []string{id("2")}}, payloads, "1 two"},
		{original.ManagedClusters{LeafHub: "hub1", Insert: []original.Object{{ID: "a", Payload: payload("a", "one")}, {ID: "b", Payload: payload("b", "one")}}},
			clusters, "one, one"},
		{original.ManagedClusters{LeafHub: "hub1", Update: []original.Object{{ID: "a", Payload: payload("a", "two")}}, Delete: []string{"b"}},
			clusters, "two"},
	}
	for name, migrated := range map[string]bool{"as it was": false, "migrated": true} {
		t.Run(name, func(t *testing.T) {
			d := originalDatabase(t)
			if migrated {
				if err := Migrate(t.Context(), d.url); err != nil {
					t.Fatal(err)
				}
			}
			bridge := d.bridge()
			for i, step := range steps {
				if err := bridge.Send(t.Context(), step.batch); err != nil {
					t.Fatalf("bundle %d: %v", i, err)
				}
				if got := d.text("SELECT " + step.query); got != step.want {
					t.Errorf("after bundle %d the rows are %q, want %q", i, got, step.want)
				}
			}
			for range 2 {
				if err := bridge.Beat(t.Context(), "hub1"); err != nil {
					t.Fatal(err)
				}
			}
			if got := d.text("SELECT count(*) FROM status.leaf_hub_heartbeats WHERE now() AT TIME ZONE 'utc' - last_timestamp < interval '1 minute'"); got != "1" {
				t.Errorf("%s heartbeats of the last minute, want 1", got)
			}
		})
	}
}

// TestOriginalBatch: a bundle is one transaction, though the bridge never begins one.
func TestOriginalBatch(t *testing.T) {
	d := originalDatabase(t)
	err := d.bridge().Send(t.Context(), original.Policies{
		LeafHub: "hub1", Insert: []original.Cluster{{Policy: id("1"), Name: "a", Compliance: "compliant"}},
		Update: []original.Cluster{{Policy: id("1"), Name: "a", Compliance: "fine"}},
	})
	var rejected *pgconn.PgError
	if !errors.As(err, &rejected) || rejected.Code != "22P02" {
		t.Fatalf("got %v, want the compliance rejected", err)
	}
	if got := d.text("SELECT count(*) FROM status.compliance"); got != "0" {
		t.Errorf("%s rows of a bundle that failed, want none", got)
	}
}

// TestOriginalUsers: each user of the original may do what its programs do.
func TestOriginalUsers(t *testing.T) {
	d := originalDatabase(t)
	cases := []struct {
		user, sql string
		allowed   bool
	}{
		{original.ProcessUser, "INSERT INTO spec.policies (id, payload) VALUES ('" + id("1") + `', '{"metadata": {"name": "p", "namespace": "ns"}}')`, true},
		{original.ProcessUser, "INSERT INTO spec.policies (id, payload) VALUES ('" + id("2") + `', '{"metadata": {"name": "p", "namespace": "ns"}}')`, true},
		{original.ProcessUser, "UPDATE spec.policies SET deleted = true", true},
		{original.ProcessUser, "SELECT FROM status.compliance", true},
		{original.ProcessUser, "DELETE FROM status.compliance", false},
		{original.ProcessUser, "UPDATE status.leaf_hub_heartbeats SET last_timestamp = now()", false},
		{original.ProcessUser, "SELECT FROM local_status.compliance", false},
		{original.ProcessUser, "CREATE TABLE status.mine (i int)", false},
		{original.BridgeUser, "SELECT FROM spec.policies", true},
		{original.BridgeUser, "DELETE FROM spec.policies", false},
		{original.BridgeUser, "DELETE FROM local_spec.policies", true},
		{original.BridgeUser, "SELECT FROM history.policies", false},
	}
	stores := map[string]*Store{original.ProcessUser: d.open(original.ProcessUser), original.BridgeUser: d.open(original.BridgeUser)}
	for _, c := range cases {
		_, err := stores[c.user].pool.Exec(t.Context(), c.sql)
		if c.allowed && err != nil || !c.allowed && (err == nil || !strings.Contains(err.Error(), "permission denied")) {
			t.Errorf("%s, %s: allowed should be %v, got %v", c.user, c.sql, c.allowed, err)
		}
	}
	if got := d.text("SELECT string_agg(right(id::text, 1) || deleted, ', ') FROM (SELECT * FROM history.policies UNION ALL SELECT * FROM spec.policies) p"); got != "1false, 2true" {
		t.Errorf("the history and spec have %s, want the first policy in the history", got)
	}
}
