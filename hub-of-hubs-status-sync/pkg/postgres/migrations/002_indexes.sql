-- The indexes that the status sync reads by. Building one locks its table against writes: about half a minute for ten
-- million rows. Who cannot have that builds it before, under the same name and CONCURRENTLY.

-- A policy's rows, from the index alone.
CREATE INDEX IF NOT EXISTS compliance_policy_leaf_hub_cluster_idx
    ON status.compliance (id, leaf_hub_name, cluster_name) INCLUDE (compliance, error);

-- Which object of the global hub a row is about: namespace/name, or null where the row does not say. For a
-- PlacementDecision it is the Placement, for a subscription's status or report the Subscription; an add-on has no
-- namespace of its own on the global hub.
CREATE FUNCTION hub_of_hubs.subject(source text, payload jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE source
        WHEN 'placementdecisions' THEN
            (payload -> 'metadata' ->> 'namespace') || '/' || coalesce(
                payload -> 'metadata' -> 'labels' ->> 'cluster.open-cluster-management.io/placement',
                regexp_replace(payload -> 'metadata' ->> 'name', '-decision-[0-9]+$', ''))
        WHEN 'subscription_statuses' THEN coalesce(
            regexp_replace(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '\.', '/'),
            (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name'))
        WHEN 'subscription_reports' THEN coalesce(
            regexp_replace(payload -> 'metadata' -> 'labels' ->> 'apps.open-cluster-management.io/hosting-subscription', '\.', '/'),
            (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name'))
        WHEN 'managedclusteraddons' THEN payload -> 'metadata' ->> 'name'
        ELSE (payload -> 'metadata' ->> 'namespace') || '/' || (payload -> 'metadata' ->> 'name')
    END
$$;

{{ range list "policies" "placementrules" "placements" "subscriptions" }}
CREATE INDEX IF NOT EXISTS {{ . }}_subject_idx ON spec.{{ . }} (hub_of_hubs.subject('{{ . }}', payload));
{{ end }}
{{ range list "placementrules" "placements" "placementdecisions" "subscription_statuses" "subscription_reports" "managedclusteraddons" }}
CREATE INDEX IF NOT EXISTS {{ . }}_subject_idx ON status.{{ . }} (hub_of_hubs.subject('{{ . }}', payload));
{{ end }}
