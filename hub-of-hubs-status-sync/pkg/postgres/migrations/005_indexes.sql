---- tern: disable-tx ----
-- Indexes are built concurrently, so that the tables can be written meanwhile. They cannot be built in a transaction. A
-- migration that was interrupted begins here again: what it built stays, and what it began is invalid, and is built anew.
-- Invalid indexes of other names stay: they belong to others
-- (https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY).
DO $$
DECLARE
    invalid regclass;
BEGIN
    FOR invalid IN SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE NOT i.indisvalid AND c.relname ~ ('^(managed_clusters_labels_leaf_hub_name_and_cluster_name'
            || '|compliance_(leaf_hub_non_compliant|leaf_hub_cluster|leaf_hub_policy_cluster|policy_leaf_hub_cluster)'
            || '|managed_clusters_(metadata_name|leaf_hub_name_metadata_name)|leaf_hub_heartbeats_leaf_hub|managedclusteraddons_said'
            || '|(policies|subscriptions|placementrules|placements|placementdecisions|subscription_statuses|subscription_reports)_subject'
            || '|(placementrules|placements|placementdecisions|subscription_statuses|subscription_reports|managedclusteraddons)_'
            || '(payload_name_and_namespace|leaf_hub_name_and_payload_name_.*))(_idx)?$') -- a name ends at 63 characters
            AND c.relnamespace IN ('spec'::regnamespace, 'status'::regnamespace, 'local_status'::regnamespace)
    LOOP
        EXECUTE 'DROP INDEX ' || invalid;
    END LOOP;
END $$;

-- A build waits for the transactions that began before it. Writers do not wait for a build that waits.
SET lock_timeout = '10min';

-- hub-of-hubs has these.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS managed_clusters_labels_leaf_hub_name_and_cluster_name_idx
    ON spec.managed_clusters_labels (leaf_hub_name, managed_cluster_name);
{{ range list "status" "local_status" }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS compliance_leaf_hub_non_compliant_idx
    ON {{ . }}.compliance (leaf_hub_name, compliance) WHERE compliance <> 'compliant';
CREATE INDEX CONCURRENTLY IF NOT EXISTS compliance_leaf_hub_cluster_idx
    ON {{ . }}.compliance (leaf_hub_name, cluster_name);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS compliance_leaf_hub_policy_cluster_idx
    ON {{ . }}.compliance (leaf_hub_name, id, cluster_name);
{{ end }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS managed_clusters_metadata_name_idx
    ON status.managed_clusters ((payload -> 'metadata' ->> 'name'));
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS managed_clusters_leaf_hub_name_metadata_name_idx
    ON status.managed_clusters (leaf_hub_name, (payload -> 'metadata' ->> 'name'));
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS leaf_hub_heartbeats_leaf_hub_idx ON status.leaf_hub_heartbeats (leaf_hub_name);
{{ range list "placementrules" "placements" "placementdecisions" "subscription_statuses" "subscription_reports" "managedclusteraddons" }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS {{ . }}_payload_name_and_namespace_idx
    ON status.{{ . }} ((payload -> 'metadata' ->> 'name'), (payload -> 'metadata' ->> 'namespace'));
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {{ . }}_leaf_hub_name_and_payload_name_namespace_idx
    ON status.{{ . }} (leaf_hub_name, (payload -> 'metadata' ->> 'name'), (payload -> 'metadata' ->> 'namespace'));
{{ end }}

-- The status sync reads by these. The first one has a policy's rows, which are read from the index alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS compliance_policy_leaf_hub_cluster_idx
    ON status.compliance (id, leaf_hub_name, cluster_name) INCLUDE (compliance, error);
{{ range list "policies" "placementrules" "placements" "subscriptions" }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS {{ . }}_subject_idx ON spec.{{ . }} (hub_of_hubs.subject('{{ . }}', payload));
{{ end }}
{{ range list "placementrules" "placements" "placementdecisions" "subscription_statuses" "subscription_reports" }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS {{ . }}_subject_idx ON status.{{ . }} (hub_of_hubs.subject('{{ . }}', payload));
{{ end }}
CREATE INDEX CONCURRENTLY IF NOT EXISTS managedclusteraddons_said_idx ON status.managedclusteraddons (name, leaf_hub_name, said);
