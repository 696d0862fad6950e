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

-- The log is trimmed by what leaf hubs' heartbeats call: at most once a minute, and at every heartbeat while more is left
-- than one of them removes, which is up to 50,000 rows in about a second. Transaction ids that lie in the future are of
-- another server, from which the database was restored: such rows go, and such snapshots are replaced.
CREATE OR REPLACE FUNCTION hub_of_hubs.trim_change_log() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    begun constant timestamptz = clock_timestamp();
    chunk constant bigint = 5000;
    removed bigint;
    state hub_of_hubs.change_log_state;
BEGIN
    -- in a stricter isolation another one's trim would be an error of the heartbeat
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN NULL;
    END IF;
    PERFORM FROM hub_of_hubs.change_log_state s WHERE s.last_trim < clock_timestamp() - interval '1 minute';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO state FROM hub_of_hubs.change_log_state FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF pg_snapshot_xmax(state.trimmed) > pg_snapshot_xmax(pg_current_snapshot()) THEN
        state.trimmed = NULL;
    END IF;
    IF pg_snapshot_xmax(state.pending) > pg_snapshot_xmax(pg_current_snapshot()) THEN
        state.pending = pg_current_snapshot();
        state.pending_since = clock_timestamp();
    ELSIF state.pending_since < clock_timestamp() - interval '5 minutes' THEN
        state.trimmed = state.pending;
        state.pending = pg_current_snapshot();
        state.pending_since = clock_timestamp();
    END IF;
    FOR turn IN 1 .. 10 LOOP
        -- this transaction's own id may lie beyond its snapshot
        DELETE FROM hub_of_hubs.change_log WHERE ctid = ANY (ARRAY(
            SELECT l.ctid FROM hub_of_hubs.change_log l
            WHERE l.xid >= pg_snapshot_xmax(pg_current_snapshot()) AND l.xid <> pg_current_xact_id()
            LIMIT chunk));
        GET DIAGNOSTICS removed = ROW_COUNT;
        IF removed < chunk THEN
            DELETE FROM hub_of_hubs.change_log WHERE ctid = ANY (ARRAY(
                SELECT l.ctid FROM hub_of_hubs.change_log l
                WHERE l.xid < pg_snapshot_xmax(state.trimmed) AND pg_visible_in_snapshot(l.xid, state.trimmed)
                LIMIT chunk));
            GET DIAGNOSTICS removed = ROW_COUNT;
        END IF;
        EXIT WHEN removed < chunk OR clock_timestamp() > begun + interval '1 second';
    END LOOP;
    UPDATE hub_of_hubs.change_log_state SET trimmed = state.trimmed, pending = state.pending,
        pending_since = state.pending_since,
        last_trim = CASE WHEN removed < chunk THEN clock_timestamp() ELSE '-infinity' END;
    RETURN NULL;
END $$;

-- An update that moves a row from one policy to another and changes another row of the first changes both policies.
CREATE OR REPLACE FUNCTION hub_of_hubs.log_compliance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, n.id::text FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, o.id::text FROM old_rows o;
    ELSE
        -- an update that changes nothing is no change
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, changed.id::text FROM (
            (SELECT id, leaf_hub_name, cluster_name, error, compliance FROM new_rows
                EXCEPT ALL SELECT id, leaf_hub_name, cluster_name, error, compliance FROM old_rows)
            UNION ALL
            (SELECT id, leaf_hub_name, cluster_name, error, compliance FROM old_rows
                EXCEPT ALL SELECT id, leaf_hub_name, cluster_name, error, compliance FROM new_rows)) changed;
    END IF;
    IF FOUND THEN
        PERFORM pg_notify('hub_of_hubs_status', '');
    END IF;
    RETURN NULL;
END $$;
