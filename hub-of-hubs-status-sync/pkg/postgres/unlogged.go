package postgres

import (
	"fmt"
	"strings"
)

// The reads of a database that was not migrated: by its own tables and indexes, without the functions and the index of the
// migrations, and by SQL that PostgreSQL 10 knows.

// unloggedCompliance is a loose index scan over the leaf hubs, because every index of hub-of-hubs on the table begins with
// the hub. OFFSET 0 keeps the planner from reading the whole table instead.
const unloggedCompliance = `WITH RECURSIVE hub(name) AS (
	(SELECT leaf_hub_name FROM status.compliance ORDER BY leaf_hub_name LIMIT 1)
	UNION ALL
	SELECT (SELECT c.leaf_hub_name FROM status.compliance c WHERE c.leaf_hub_name > hub.name ORDER BY c.leaf_hub_name LIMIT 1)
	FROM hub WHERE hub.name IS NOT NULL)
SELECT r.id::text, r.leaf_hub_name, r.cluster_name, r.error::text, r.compliance::text
FROM hub CROSS JOIN LATERAL (SELECT * FROM status.compliance c WHERE c.leaf_hub_name = hub.name AND c.id = ANY($1::uuid[]) OFFSET 0) r`

// noHeartbeats stands for a table of heartbeats that cannot be read.
const noHeartbeats = `(SELECT ''::text AS leaf_hub_name, now()::timestamp AS last_timestamp WHERE false)`

// payloadsQuery returns the query of the rows of a kind's objects, other than compliance.
func (l *layout) payloadsQuery(kind aggregated) string {
	match := fmt.Sprintf("hub_of_hubs.subject('%s', t.payload) = hub_of_hubs.subject('%s', s.payload)", kind.rows, kind.spec)
	switch {
	case l.unlogged == "":
	case kind.rows == kind.spec:
		// the index of hub-of-hubs has these two
		match = `t.payload -> 'metadata' ->> 'name' = s.payload -> 'metadata' ->> 'name'
	AND t.payload -> 'metadata' ->> 'namespace' = s.payload -> 'metadata' ->> 'namespace'`
	default:
		match = inlineSubject(kind.rows, "t.payload") + " = " + inlineSubject(kind.spec, "s.payload")
	}
	return fmt.Sprintf(`SELECT s.id::text, t.leaf_hub_name, t.payload, 1::bigint
FROM spec.%s s JOIN status.%s t ON %s
WHERE s.id = ANY($1::uuid[])`, kind.spec, kind.rows, match)
}

// inlineSubject returns the SQL expression of hub_of_hubs.subject(table, payload).
func inlineSubject(table, payload string) string {
	expression := "(P ->> 'namespace') || '/' || (P ->> 'name')"
	switch table {
	case "placementdecisions":
		expression = `(P ->> 'namespace') || '/' || coalesce(
	P -> 'labels' ->> 'cluster.open-cluster-management.io/placement', regexp_replace(P ->> 'name', '-decision-[0-9]+$', ''))`
	case "subscription_statuses", "subscription_reports":
		expression = `CASE WHEN rtrim(left((P ->> 'namespace') || '.' || (P ->> 'name'), 63), '-_.')
		IS DISTINCT FROM rtrim(P -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '-_.')
	THEN coalesce(regexp_replace(P -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '\.', '/'),
		` + expression + `)
	ELSE ` + expression + ` END`
	}
	return "(" + strings.ReplaceAll(expression, "P ->", payload+" -> 'metadata' ->") + ")"
}
