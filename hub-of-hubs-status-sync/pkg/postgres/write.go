package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// lockHub serializes the batches of a leaf hub, in case two reporters have its name. work_mem is for the hash table of
// removeCompliance: half a million clusters of policies fit.
const lockHub = `SELECT pg_advisory_xact_lock(hashtextextended('hub_of_hubs/' || $1, 0)), set_config('work_mem', '64MB', true)`

// upsertCompliance writes new and different rows. It does not lock equal rows.
const upsertCompliance = `
INSERT INTO status.compliance AS c (id, cluster_name, leaf_hub_name, error, compliance)
SELECT n.id, n.cluster_name, $1, n.error::status.error_type, n.compliance::status.compliance_type
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) AS n(id, cluster_name, error, compliance)
LEFT JOIN status.compliance o ON o.leaf_hub_name = $1 AND o.id = n.id AND o.cluster_name = n.cluster_name
WHERE o.id IS NULL OR o.error::text <> n.error OR o.compliance::text <> n.compliance
ON CONFLICT (leaf_hub_name, id, cluster_name)
DO UPDATE SET error = excluded.error, compliance = excluded.compliance
WHERE (c.error, c.compliance) IS DISTINCT FROM (excluded.error, excluded.compliance)`

// removeCompliance deletes the clusters that complete policies no longer have. NOT IN is a hashed subplan whatever the
// statistics are. For NOT EXISTS the planner chooses nested loops as long as the statistics do not know the hub, which took
// over a minute for 20,000 rows. No column here is null.
const removeCompliance = `
DELETE FROM status.compliance c WHERE c.leaf_hub_name = $1 AND c.id = ANY($2::uuid[]) AND (c.id, c.cluster_name::text) NOT IN (
	SELECT n.id, n.cluster_name FROM unnest($3::uuid[], $4::text[]) AS n(id, cluster_name))`

// Apply implements status.Writer. It returns an error if the server ends the transaction (for example after a deadlock with
// another kind of writer). The caller then applies the same batch again.
func (s *Store) Apply(ctx context.Context, leafHub string, batch status.Batch) (status.Result, error) {
	if problem := nameProblem(leafHub); problem != "" {
		return status.Result{}, fmt.Errorf("the leaf hub's name %q %s", leafHub, problem)
	}
	ready := prepare(batch)
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var result status.Result
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		w := writing{tx: tx, leafHub: leafHub, result: status.Result{Rejected: ready.rejected}}
		if _, err := tx.Exec(ctx, lockHub, leafHub); err != nil {
			return err
		}
		if err := w.all(ctx, ready); err != nil {
			return err
		}
		result = w.result
		return nil
	})
	if err != nil {
		return status.Result{}, s.wrap(err, "write the report of leaf hub %q", leafHub)
	}
	return result, nil
}

// writing is the state of one Apply.
type writing struct {
	tx      pgx.Tx
	leafHub string
	result  status.Result
}

func (w *writing) all(ctx context.Context, ready prepared) error {
	if len(ready.complete) > 0 {
		err := w.exec(ctx, &w.result.Removed, removeCompliance, w.leafHub,
			ready.complete, ready.compliance.ids, ready.compliance.clusters)
		if err != nil {
			return err
		}
	}
	if ready.compliance.rows() > 0 {
		c := ready.compliance
		err := w.exec(ctx, &w.result.Written, upsertCompliance, w.leafHub, c.ids, c.clusters, c.errors, c.compliance)
		if err != nil {
			return err
		}
	}
	for _, kind := range reportedKinds {
		if gone := ready.removed[kind.table]; gone.rows() > 0 {
			err := w.exec(ctx, &w.result.Removed, removeObjects(kind.table), w.leafHub, gone.namespaces, gone.names)
			if err != nil {
				return err
			}
		}
		if there := ready.objects[kind.table]; there.rows() > 0 {
			if err := w.objects(ctx, kind, there); err != nil {
				return err
			}
		}
	}
	return nil
}

// exec runs a statement and adds the affected rows to count.
func (w *writing) exec(ctx context.Context, count *int, sql string, args ...any) error {
	tag, err := w.tx.Exec(ctx, sql, args...)
	*count += int(tag.RowsAffected())
	return err
}

// objects writes objects in one statement, and one by one when the database rejects one of them. PostgreSQL rejects some
// valid JSON, for example a zero character.
func (w *writing) objects(ctx context.Context, kind reported, rows objectColumns) error {
	err := w.upsert(ctx, kind.table, rows)
	if err == nil || !isData(err) {
		return err
	}
	for i := range rows.rows() {
		if err := w.upsert(ctx, kind.table, rows.row(i)); err != nil {
			var refused *pgconn.PgError
			if !isData(err) || !errors.As(err, &refused) {
				return err
			}
			w.result.Rejected = append(w.result.Rejected, status.Rejection{
				Entry:  fmt.Sprintf("%s %s/%s", kind.kind, rows.namespaces[i], rows.names[i]),
				Reason: "the database rejects it: " + refused.Message,
			})
		}
	}
	return nil
}

// upsert writes objects within a savepoint, so that a rejected one does not end the transaction.
func (w *writing) upsert(ctx context.Context, table string, rows objectColumns) error {
	return pgx.BeginFunc(ctx, w.tx, func(savepoint pgx.Tx) error {
		args := []any{w.leafHub, rows.namespaces, rows.names, rows.payloads, rows.ids}
		if table == managedClustersTable {
			args = []any{w.leafHub, rows.names, rows.payloads, rows.errors}
		}
		tag, err := savepoint.Exec(ctx, upsertObjects(table), args...)
		if err == nil {
			w.result.Written += int(tag.RowsAffected())
		}
		return err
	})
}

// The expressions of the unique indexes.
const (
	nameOf      = `(payload -> 'metadata' ->> 'name')`
	namespaceOf = `(payload -> 'metadata' ->> 'namespace')`
)

// upsertObjects returns the statement that writes new and different rows.
func upsertObjects(table string) string {
	if table == managedClustersTable {
		return `
INSERT INTO status.managed_clusters AS t (leaf_hub_name, payload, error)
SELECT $1, n.payload::jsonb, n.error::status.error_type
FROM unnest($2::text[], $3::text[], $4::text[]) AS n(name, payload, error)
LEFT JOIN status.managed_clusters o ON o.leaf_hub_name = $1 AND o.payload -> 'metadata' ->> 'name' = n.name
WHERE o.leaf_hub_name IS NULL OR o.payload <> n.payload::jsonb OR o.error::text <> n.error
ON CONFLICT (leaf_hub_name, ` + nameOf + `) DO UPDATE SET payload = excluded.payload, error = excluded.error`
	}
	return `
INSERT INTO status.` + table + ` AS t (id, leaf_hub_name, payload)
SELECT n.id, $1, n.payload::jsonb
FROM unnest($2::text[], $3::text[], $4::text[], $5::uuid[]) AS n(namespace, name, payload, id)
LEFT JOIN status.` + table + ` o ON o.leaf_hub_name = $1
	AND o.payload -> 'metadata' ->> 'name' = n.name AND o.payload -> 'metadata' ->> 'namespace' = n.namespace
WHERE o.id IS NULL OR o.id <> n.id OR o.payload <> n.payload::jsonb
ON CONFLICT (leaf_hub_name, ` + nameOf + `, ` + namespaceOf + `) DO UPDATE SET id = excluded.id, payload = excluded.payload`
}

func removeObjects(table string) string {
	if table == managedClustersTable {
		return `DELETE FROM status.managed_clusters t USING unnest($2::text[], $3::text[]) AS n(namespace, name)
WHERE t.leaf_hub_name = $1 AND t.payload -> 'metadata' ->> 'name' = n.name`
	}
	return `DELETE FROM status.` + table + ` t USING unnest($2::text[], $3::text[]) AS n(namespace, name)
WHERE t.leaf_hub_name = $1 AND t.payload -> 'metadata' ->> 'name' = n.name
	AND t.payload -> 'metadata' ->> 'namespace' = n.namespace`
}
