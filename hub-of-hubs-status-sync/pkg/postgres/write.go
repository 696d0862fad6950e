package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// lockHub lets one batch of a leaf hub at a time in, should two reporters speak for it. The memory is for the hash table
// of removeCompliance: half a million clusters of policies fit.
const lockHub = `SELECT pg_advisory_xact_lock(hashtextextended('hub_of_hubs/' || $1, 0)), set_config('work_mem', '64MB', true)`

// upsertCompliance writes rows that are new or differ; a row that is as it should be is not even locked.
const upsertCompliance = `
INSERT INTO status.compliance AS c (id, cluster_name, leaf_hub_name, error, compliance)
SELECT n.id, n.cluster_name, $1, n.error::status.error_type, n.compliance::status.compliance_type
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) AS n(id, cluster_name, error, compliance)
LEFT JOIN status.compliance o ON o.leaf_hub_name = $1 AND o.id = n.id AND o.cluster_name = n.cluster_name
WHERE o.id IS NULL OR o.error::text <> n.error OR o.compliance::text <> n.compliance
ON CONFLICT (leaf_hub_name, id, cluster_name)
DO UPDATE SET error = excluded.error, compliance = excluded.compliance
WHERE (c.error, c.compliance) IS DISTINCT FROM (excluded.error, excluded.compliance)`

// removeCompliance removes what complete policies no longer have. NOT IN is a look into a hash table, whatever the
// statistics say; of NOT EXISTS the planner makes a loop in a loop for a hub that they do not know yet. Nothing here is
// null.
const removeCompliance = `
DELETE FROM status.compliance c WHERE c.leaf_hub_name = $1 AND c.id = ANY($2::uuid[]) AND (c.id, c.cluster_name::text) NOT IN (
	SELECT n.id, n.cluster_name FROM unnest($3::uuid[], $4::text[]) AS n(id, cluster_name))`

// Apply implements status.Writer. A transaction that is ended by the server (a deadlock with a writer of another kind, a
// restart) is an error; the same batch is applied again then.
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
		return status.Result{}, s.wrap(err, "write what leaf hub %q reports", leafHub)
	}
	return result, nil
}

// writing is a batch that is being written.
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

// exec runs a statement and adds the rows that it touched.
func (w *writing) exec(ctx context.Context, count *int, sql string, args ...any) error {
	tag, err := w.tx.Exec(ctx, sql, args...)
	*count += int(tag.RowsAffected())
	return err
}

// objects writes objects together, and one by one when the database refuses one of them: what is JSON to us need not be
// to it, a zero character or a number of a thousand digits for example.
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
				Reason: "the database refuses it: " + refused.Message,
			})
		}
	}
	return nil
}

// upsert writes objects within a savepoint, so that a refused one does not end the transaction.
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

// The expressions of the unique indexes, by which rows are found.
const (
	nameOf      = `(payload -> 'metadata' ->> 'name')`
	namespaceOf = `(payload -> 'metadata' ->> 'namespace')`
)

// upsertObjects writes rows that are new or differ.
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
