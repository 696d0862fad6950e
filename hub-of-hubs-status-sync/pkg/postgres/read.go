package postgres

import (
	"context"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// uuidForm is the form in which the database returns ids of spec.*.
var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Read implements status.Reader.
func (s *Store) Read(ctx context.Context, keys []status.Key) (status.Snapshot, error) {
	if err := s.reads.Acquire(ctx, 1); err != nil {
		return status.Snapshot{}, s.wrap(err, "wait for a connection to read the rows of %d objects", len(keys))
	}
	defer s.reads.Release(1)
	layout, err := s.current(ctx)
	if err != nil {
		return status.Snapshot{}, s.wrap(err, "read the rows of %d objects", len(keys))
	}
	var snapshot status.Snapshot
	err = s.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		reading := newReading(tx, layout, s.namespace, keys)
		var err error
		if reading.Heartbeats, err = heartbeats(ctx, tx, layout); err != nil {
			return err
		}
		for _, kind := range aggregatedKinds {
			if !layout.reads(kind) {
				continue
			}
			if err := reading.kind(ctx, kind); err != nil {
				return err
			}
		}
		snapshot = reading.Snapshot
		return nil
	})
	if err != nil {
		return status.Snapshot{}, s.wrap(err, "read the rows of %d objects", len(keys))
	}
	return snapshot, nil
}

// reading is the state of one Read.
type reading struct {
	status.Snapshot
	tx        pgx.Tx
	layout    *layout
	namespace string
	byKey     map[status.Key][]int
	// seen holds one copy of each string that many rows share: names of hubs, values of enums. A million clusters of a policy
	// would otherwise hold three more strings each.
	seen map[string]string
}

func newReading(tx pgx.Tx, layout *layout, namespace string, keys []status.Key) *reading {
	r := &reading{tx: tx, layout: layout, namespace: namespace, byKey: map[status.Key][]int{}, seen: map[string]string{}}
	r.Objects = make([]status.Object, len(keys))
	for i, key := range keys {
		r.Objects[i].Key = key
		r.byKey[key] = append(r.byKey[key], i)
	}
	return r
}

// kind reads the objects of one kind and their rows.
func (r *reading) kind(ctx context.Context, kind aggregated) error {
	if kind.only != "" {
		return r.addOns(ctx, kind)
	}
	var ids []string
	for key := range r.byKey {
		if key.Kind == kind.kind && uuidForm.MatchString(key.ID) {
			ids = append(ids, key.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ids, err := r.specs(ctx, kind, ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	if kind.rows == complianceTable {
		return r.compliance(ctx, kind, ids)
	}
	return r.payloads(ctx, kind, r.layout.payloadsQuery(kind), ids)
}

// addOns reads the rows of the only AddOnSummary.
func (r *reading) addOns(ctx context.Context, kind aggregated) error {
	if len(r.byKey[status.Key{Kind: kind.kind, ID: kind.only}]) == 0 {
		return nil
	}
	r.found(kind.kind, kind.only, "", kind.only)
	return r.payloads(ctx, kind, addOnsAlike, kind.only)
}

// addOnsAlike counts the clusters of each leaf hub with the same conditions: a million clusters become a few rows. Only one
// payload of each group is read.
const addOnsAlike = `
SELECT g.name, g.leaf_hub_name, hub_of_hubs.addon_says(one.payload), g.clusters
FROM (SELECT name, leaf_hub_name, said, count(*) AS clusters FROM status.managedclusteraddons
	WHERE name = $1 GROUP BY name, leaf_hub_name, said) g
CROSS JOIN LATERAL (SELECT a.payload FROM status.managedclusteraddons a
	WHERE a.name = g.name AND a.leaf_hub_name = g.leaf_hub_name AND a.said = g.said LIMIT 1) one`

// found marks the objects of a key as found.
func (r *reading) found(kind status.Kind, id, namespace, name string) {
	for _, i := range r.byKey[status.Key{Kind: kind, ID: id}] {
		r.Objects[i].Found, r.Objects[i].Namespace, r.Objects[i].Name = true, namespace, name
	}
}

// specs returns those of the ids that exist.
func (r *reading) specs(ctx context.Context, kind aggregated, ids []string) ([]string, error) {
	rows, err := r.tx.Query(ctx, `SELECT id::text, coalesce(payload -> 'metadata' ->> 'namespace', ''),
	coalesce(payload -> 'metadata' ->> 'name', '') FROM spec.`+kind.spec+`
WHERE id = ANY($1::uuid[]) AND NOT deleted AND $2 IN ('', payload -> 'metadata' ->> 'namespace')`, ids, r.namespace)
	if err != nil {
		return nil, err
	}
	var there []string
	var id, namespace, name string
	_, err = pgx.ForEachRow(rows, []any{&id, &namespace, &name}, func() error {
		if name != "" {
			there = append(there, id)
			r.found(kind.kind, id, namespace, name)
		}
		return nil
	})
	return there, err
}

func (r *reading) compliance(ctx context.Context, kind aggregated, ids []string) error {
	sql := unloggedCompliance
	if r.layout.unlogged == "" {
		sql = `SELECT id::text, leaf_hub_name, cluster_name, error::text, compliance::text
FROM status.compliance WHERE id = ANY($1::uuid[])`
	}
	rows, err := r.tx.Query(ctx, sql, ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row status.ComplianceRow
	var id string
	var objects []int
	for rows.Next() {
		// text is the same in both formats of the protocol; Scan would copy each value once more
		values := rows.RawValues()
		if next := r.shared(values[0], id); next != id {
			id, objects = next, r.byKey[status.Key{Kind: kind.kind, ID: next}]
		}
		row.LeafHub = r.shared(values[1], row.LeafHub)
		row.Cluster = string(values[2])
		row.Error = r.shared(values[3], row.Error)
		row.Compliance = r.shared(values[4], row.Compliance)
		for _, i := range objects {
			r.Objects[i].Compliance = append(r.Objects[i].Compliance, row)
		}
		r.Rows++
	}
	return rows.Err()
}

// shared returns one copy of a value for all rows. Rows are read in the order of an index, so a column's value is mostly
// that of the previous row.
func (r *reading) shared(value []byte, before string) string {
	if string(value) == before {
		return before
	}
	if known, ok := r.seen[string(value)]; ok {
		return known
	}
	known := string(value)
	r.seen[known] = known
	return known
}

// payloads reads rows of id or name, leaf hub, payload, and the number of equal ones.
func (r *reading) payloads(ctx context.Context, kind aggregated, sql string, ids any) error {
	rows, err := r.tx.Query(ctx, sql, ids)
	if err != nil {
		return err
	}
	var id string
	var row status.PayloadRow
	_, err = pgx.ForEachRow(rows, []any{&id, &row.LeafHub, &row.Payload, &row.Count}, func() error {
		for _, i := range r.byKey[status.Key{Kind: kind.kind, ID: id}] {
			r.Objects[i].Payloads = append(r.Objects[i].Payloads, row)
		}
		r.Rows++
		row.Payload = nil
		return nil
	})
	return err
}

// Heartbeats implements status.HeartbeatReader.
func (s *Store) Heartbeats(ctx context.Context) (status.Heartbeats, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	layout, err := s.current(ctx)
	if err != nil {
		return status.Heartbeats{}, s.wrap(err, "read the leaf hubs' heartbeats")
	}
	all, err := heartbeats(ctx, s.pool, layout)
	if err != nil {
		return status.Heartbeats{}, s.wrap(err, "read the leaf hubs' heartbeats")
	}
	return all, nil
}

// querier is a transaction, or the pool for a statement that needs none.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// heartbeatsQuery returns the query of the last heartbeats, and of when the next ones are due. The columns have no time zone:
// their times are UTC, as the original transport bridge writes them. A hub's beat is the range from its last heartbeat to the
// next one. A writer that does not know the column, such as the bridge, leaves the beat of another heartbeat, which states
// nothing of the last one. to_jsonb serves a table without the column, too.
func heartbeatsQuery(table string) string {
	return `
SELECT clock_timestamp(), pg_postmaster_start_time(), pg_is_in_recovery(), h.leaf_hub_name, h.last_timestamp AT TIME ZONE 'UTC',
	CASE WHEN lower(h.beat) = h.last_timestamp AND isfinite(upper(h.beat)) THEN upper(h.beat) AT TIME ZONE 'UTC' END
FROM (SELECT) one LEFT JOIN (
	SELECT t.leaf_hub_name, t.last_timestamp, (to_jsonb(t) ->> 'beat')::tsrange AS beat FROM ` + table + ` t
) h ON isfinite(h.last_timestamp)`
}

// heartbeats reads the last heartbeats. A standby returns errStandby.
func heartbeats(ctx context.Context, in querier, layout *layout) (status.Heartbeats, error) {
	all := status.Heartbeats{Last: map[string]time.Time{}, Interval: map[string]time.Duration{}}
	table := heartbeatTable
	if !layout.readable[table] {
		table = noHeartbeats
	}
	rows, err := in.Query(ctx, heartbeatsQuery(table))
	if err != nil {
		return all, err
	}
	var standby bool
	var leafHub *string
	var last, due *time.Time
	_, err = pgx.ForEachRow(rows, []any{&all.Now, &all.Started, &standby, &leafHub, &last, &due}, func() error {
		if standby {
			return errStandby
		}
		if leafHub != nil && last != nil {
			all.Last[*leafHub] = *last
		}
		if leafHub != nil && last != nil && due != nil {
			all.Interval[*leafHub] = due.Sub(*last)
		}
		return nil
	})
	return all, err
}
