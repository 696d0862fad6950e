-- What an add-on's payload says, and no more: its conditions without their messages and times. The clusters whose add-ons
-- say the same can then be counted where they are. What is not as it should be stays, for whoever aggregates to find.
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
ALTER TABLE status.managedclusteraddons
    ADD COLUMN says jsonb GENERATED ALWAYS AS (hub_of_hubs.addon_says(payload)) STORED;

-- A subscription's status or report has its Subscription as a label, namespace.name, which is cut to the 63 characters that
-- a label may have. So the row's own name counts where the label may be its beginning, and the label elsewhere.
LOCK TABLE status.subscription_statuses, status.subscription_reports IN SHARE ROW EXCLUSIVE MODE;
CREATE OR REPLACE FUNCTION hub_of_hubs.subject(source text, payload jsonb) RETURNS text
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
REINDEX INDEX status.subscription_statuses_subject_idx;
REINDEX INDEX status.subscription_reports_subject_idx;
-- readers look at everything once
INSERT INTO hub_of_hubs.change_log (source, key) VALUES ('subscription_statuses', '');
