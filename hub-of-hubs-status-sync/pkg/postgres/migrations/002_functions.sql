-- subject returns the object of the global hub that a row is about, as namespace/name, or null where the row does not name
-- one. For a PlacementDecision it is the Placement, for a subscription's status or report the Subscription. An add-on has
-- no namespace on the global hub.
--
-- A subscription's status or report has its Subscription as a label, namespace.name, cut to the 63 characters that a label
-- may have (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set). So the
-- row's own name counts where the label may be the beginning of it, and the label elsewhere.
CREATE FUNCTION hub_of_hubs.subject(source text, payload jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN source = 'placementdecisions' THEN
            (payload -> 'metadata' ->> 'namespace') || '/' || coalesce(
                payload -> 'metadata' -> 'labels' ->> 'cluster.open-cluster-management.io/placement',
                regexp_replace(payload -> 'metadata' ->> 'name', '-decision-[0-9]+$', ''))
        WHEN source IN ('subscription_statuses', 'subscription_reports')
            AND rtrim(left((payload -> 'metadata' ->> 'namespace') || '.' || (payload -> 'metadata' ->> 'name'), 63), '-_.')
                IS DISTINCT FROM rtrim(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '-_.')
        THEN coalesce(
            regexp_replace(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '\.', '/'),
            (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name'))
        WHEN source = 'managedclusteraddons' THEN payload -> 'metadata' ->> 'name'
        ELSE (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name')
    END
$$;

-- addon_says returns an add-on's conditions without their messages and times. So add-ons with the same conditions can be
-- counted in the database. Values of unexpected types are kept, for the program to report.
CREATE FUNCTION hub_of_hubs.addon_says(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('status', CASE
        WHEN jsonb_typeof(payload -> 'status' -> 'conditions') = 'array' THEN jsonb_build_object('conditions', (
            SELECT coalesce(jsonb_agg(c.says ORDER BY c.says), '[]') FROM (
                SELECT CASE WHEN jsonb_typeof(e) = 'object'
                    THEN jsonb_build_object('type', e -> 'type', 'status', e -> 'status', 'reason', e -> 'reason')
                    ELSE e END AS says
                FROM jsonb_array_elements(payload -> 'status' -> 'conditions') e) c))
        WHEN jsonb_typeof(payload -> 'status') = 'object'
            THEN jsonb_build_object('conditions', payload -> 'status' -> 'conditions')
        ELSE payload -> 'status' END)
$$;

-- The clusters of each leaf hub with the same conditions are counted from an index alone, however large the payloads are.
-- The conditions have only a hash in it: an entry may have 2,704 bytes, and a larger one would fail the writer. The table is
-- vacuumed early, because a page that changed since its last vacuum is read nevertheless:
-- https://www.postgresql.org/docs/current/indexes-index-only-scans.html
ALTER TABLE status.managedclusteraddons
    ADD COLUMN IF NOT EXISTS name text GENERATED ALWAYS AS (payload -> 'metadata' ->> 'name') STORED,
    ADD COLUMN IF NOT EXISTS said bigint GENERATED ALWAYS AS (hashtextextended(hub_of_hubs.addon_says(payload)::text, 0)) STORED,
    SET (autovacuum_vacuum_scale_factor = 0.02);
