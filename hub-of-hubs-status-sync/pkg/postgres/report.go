package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Present implements status.Writer.
func (s *Store) Present(ctx context.Context, leafHub string) (status.Inventory, error) {
	var inventory status.Inventory
	err := s.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		inventory = status.Inventory{}
		var err error
		if inventory.Policies, err = texts(tx.Query(ctx, policiesOfHub, leafHub)); err != nil {
			return err
		}
		for _, kind := range reportedKinds {
			rows, err := tx.Query(ctx, `SELECT coalesce(`+namespaceOf+`, ''), `+nameOf+` FROM status.`+kind.table+`
WHERE leaf_hub_name = $1 AND `+nameOf+` <> ''`, leafHub)
			if err != nil {
				return err
			}
			ref := status.ObjectRef{Kind: kind.kind}
			_, err = pgx.ForEachRow(rows, []any{&ref.Namespace, &ref.Name}, func() error {
				inventory.Objects = append(inventory.Objects, ref)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return status.Inventory{}, s.wrap(err, "read the rows of leaf hub %q", leafHub)
	}
	return inventory, nil
}

// Heartbeat implements status.Writer.
func (s *Store) Heartbeat(ctx context.Context, leafHub string, interval time.Duration) error {
	if problem := nameProblem(leafHub); problem != "" {
		return fmt.Errorf("the leaf hub's name %q %s", leafHub, problem)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	_, err := s.pool.Exec(ctx, `INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name, last_timestamp, beat)
SELECT $1, at, tsrange(at, at + make_interval(secs => $2)) FROM (SELECT now() AT TIME ZONE 'UTC' AS at) clock
ON CONFLICT (leaf_hub_name) DO UPDATE SET last_timestamp = excluded.last_timestamp, beat = excluded.beat`, leafHub, interval.Seconds())
	return s.wrap(err, "write the heartbeat of leaf hub %q", leafHub)
}
