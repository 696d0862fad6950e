-- A label has at most 63 characters, so the subscription controller cuts namespace.name there. A label of that length says
-- no more than the beginning; the status or report then is about the Subscription of its own namespace and name.
CREATE OR REPLACE FUNCTION hub_of_hubs.subject(source text, payload jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN source = 'placementdecisions' THEN
            (payload -> 'metadata' ->> 'namespace') || '/' || coalesce(
                payload -> 'metadata' -> 'labels' ->> 'cluster.open-cluster-management.io/placement',
                regexp_replace(payload -> 'metadata' ->> 'name', '-decision-[0-9]+$', ''))
        WHEN source IN ('subscription_statuses', 'subscription_reports')
            AND length(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription') < 63 THEN
            regexp_replace(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '\.', '/')
        WHEN source = 'managedclusteraddons' THEN payload -> 'metadata' ->> 'name'
        ELSE (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name')
    END
$$;

-- What the function said before is in the indexes, and in what readers have looked at.
REINDEX INDEX status.subscription_statuses_subject_idx;
REINDEX INDEX status.subscription_reports_subject_idx;
INSERT INTO hub_of_hubs.change_log (source, key) VALUES ('subscription_statuses', ''), ('subscription_reports', '');
SELECT pg_notify('hub_of_hubs_status', '');
