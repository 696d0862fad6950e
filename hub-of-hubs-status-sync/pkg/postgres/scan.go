package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Scan implements status.Reader.
func (s *Store) Scan(ctx context.Context, after status.Key, limit int) ([]status.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	layout, err := s.current(ctx)
	if err != nil {
		return nil, s.wrap(err, "list the objects")
	}
	var keys []status.Key
	begun := after.Kind == ""
	for _, kind := range aggregatedKinds {
		id := ""
		if kind.kind == after.Kind {
			begun, id = true, after.ID
		}
		if !begun || len(keys) == limit || !layout.reads(kind) {
			continue
		}
		ids, err := s.scanKind(ctx, kind, id, limit-len(keys))
		if err != nil {
			return nil, s.wrap(err, "list the objects")
		}
		for _, id := range ids {
			keys = append(keys, status.Key{Kind: kind.kind, ID: id})
		}
	}
	return keys, nil
}

// zeroID sorts before every other id.
const zeroID = "00000000-0000-0000-0000-000000000000"

func (s *Store) scanKind(ctx context.Context, kind aggregated, after string, limit int) ([]string, error) {
	if kind.only != "" {
		return texts(s.pool.Query(ctx, `SELECT $1::text WHERE $1 > $2
	AND EXISTS (SELECT FROM status.managedclusteraddons WHERE name = $1)`, kind.only, after))
	}
	if after == "" {
		after = zeroID
	}
	return texts(s.pool.Query(ctx, `SELECT id::text FROM spec.`+kind.spec+`
WHERE id > $1::uuid AND NOT deleted AND $2 IN ('', payload -> 'metadata' ->> 'namespace')
ORDER BY id LIMIT $3`, after, s.namespace, limit))
}

// policiesOfHub is a loose index scan over the unique index (https://wiki.postgresql.org/wiki/Loose_indexscan): there are few
// policies with many rows each.
const policiesOfHub = `WITH RECURSIVE next(id) AS (
	(SELECT id FROM status.compliance WHERE leaf_hub_name = $1 ORDER BY id LIMIT 1)
	UNION ALL
	SELECT (SELECT c.id FROM status.compliance c WHERE c.leaf_hub_name = $1 AND c.id > next.id ORDER BY c.id LIMIT 1)
	FROM next WHERE next.id IS NOT NULL)
SELECT id::text FROM next WHERE id IS NOT NULL`

// KeysOfHub implements status.Reader.
func (s *Store) KeysOfHub(ctx context.Context, leafHub string) ([]status.Key, error) {
	var keys []status.Key
	err := s.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		keys = nil
		for _, kind := range aggregatedKinds {
			ids, err := texts(tx.Query(ctx, kind.ofHub(), leafHub))
			if err != nil {
				return err
			}
			for _, id := range ids {
				keys = append(keys, status.Key{Kind: kind.kind, ID: id})
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.wrap(err, "list the objects with rows of leaf hub %q", leafHub)
	}
	return keys, nil
}

// ofHub returns the query of the ids of objects with rows of leaf hub $1.
func (a aggregated) ofHub() string {
	switch {
	case a.rows == complianceTable:
		return policiesOfHub
	case a.only != "":
		return `SELECT name FROM status.managedclusteraddons WHERE leaf_hub_name = $1 AND name = '` + a.only + `' LIMIT 1`
	}
	return fmt.Sprintf(`SELECT DISTINCT s.id::text
FROM status.%[2]s t JOIN spec.%[1]s s ON hub_of_hubs.subject('%[2]s', t.payload) = hub_of_hubs.subject('%[1]s', s.payload)
WHERE t.leaf_hub_name = $1 AND NOT s.deleted`, a.spec, a.rows)
}

// texts collects rows of one text column.
func texts(rows pgx.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
