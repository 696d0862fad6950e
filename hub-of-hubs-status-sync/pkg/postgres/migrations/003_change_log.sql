-- The log of changed objects. Triggers write it once per statement, so writers need not know of it.
--
-- A reader's cursor is the snapshot of its last read. Every row that this snapshot did not see is new. So no change is lost
-- when a transaction began earlier and was committed later, and no transaction waits for another.
CREATE TABLE hub_of_hubs.change_log (
    source text NOT NULL,
    -- the id of a row of spec.* or status.compliance, the subject of a row of another table, or empty for all rows
    key text NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX change_log_xid_idx ON hub_of_hubs.change_log (xid);

-- Rows that the snapshot trimmed sees may have been deleted. pending becomes trimmed after five minutes.
CREATE TABLE hub_of_hubs.change_log_state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    trimmed pg_snapshot,
    pending pg_snapshot NOT NULL,
    pending_since timestamptz NOT NULL
);
INSERT INTO hub_of_hubs.change_log_state (pending, pending_since) VALUES (pg_current_snapshot(), clock_timestamp());

-- The functions run as their owner, so writers need no rights on the log.
-- An update that moves a row from one policy to another changes both policies.
CREATE FUNCTION hub_of_hubs.log_compliance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, n.id::text FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, o.id::text FROM old_rows o;
    ELSE
        -- an update that changes no value is not logged
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

CREATE FUNCTION hub_of_hubs.log_payload() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, s.subject
        FROM (SELECT hub_of_hubs.subject(TG_TABLE_NAME, payload) AS subject FROM new_rows) s WHERE s.subject <> '';
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, s.subject
        FROM (SELECT hub_of_hubs.subject(TG_TABLE_NAME, payload) AS subject FROM old_rows) s WHERE s.subject <> '';
    ELSE
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT TG_TABLE_NAME, s.subject
        FROM (SELECT hub_of_hubs.subject(TG_TABLE_NAME, payload) AS subject FROM (
                (SELECT leaf_hub_name, payload FROM new_rows EXCEPT ALL SELECT leaf_hub_name, payload FROM old_rows)
                UNION ALL
                (SELECT leaf_hub_name, payload FROM old_rows EXCEPT ALL SELECT leaf_hub_name, payload FROM new_rows)) d
        ) s WHERE s.subject <> '';
    END IF;
    IF FOUND THEN
        PERFORM pg_notify('hub_of_hubs_status', '');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION hub_of_hubs.log_spec() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT 'spec.' || TG_TABLE_NAME, n.id::text FROM new_rows n;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT 'spec.' || TG_TABLE_NAME, o.id::text FROM old_rows o;
    ELSE
        INSERT INTO hub_of_hubs.change_log (source, key)
        SELECT DISTINCT 'spec.' || TG_TABLE_NAME, d.id::text FROM (
            (SELECT id, payload, deleted FROM new_rows EXCEPT ALL SELECT id, payload, deleted FROM old_rows)
            UNION ALL
            (SELECT id, payload, deleted FROM old_rows EXCEPT ALL SELECT id, payload, deleted FROM new_rows)) d;
    END IF;
    IF FOUND THEN
        PERFORM pg_notify('hub_of_hubs_status', '');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION hub_of_hubs.log_truncate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO hub_of_hubs.change_log (source, key) VALUES (TG_TABLE_NAME, '');
    PERFORM pg_notify('hub_of_hubs_status', '');
    RETURN NULL;
END $$;

-- trim_change_log deletes rows of the log that were committed more than five to ten minutes ago, at most 100,000 in a call.
-- It returns whether more are left. The status sync calls it, so that writers pay nothing for it. A reader whose cursor is
-- older detects that by change_log_state. Transaction ids in the future are those of the server that the database was
-- restored from: such rows are deleted, and such snapshots are replaced. An idle database is not written to.
CREATE FUNCTION hub_of_hubs.trim_change_log() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    chunk constant bigint = 100000;
    removed bigint;
    state hub_of_hubs.change_log_state;
BEGIN
    IF NOT EXISTS (SELECT FROM hub_of_hubs.change_log) THEN
        RETURN false;
    END IF;
    -- a concurrent call trims already
    SELECT * INTO state FROM hub_of_hubs.change_log_state FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
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
    UPDATE hub_of_hubs.change_log_state SET trimmed = state.trimmed, pending = state.pending, pending_since = state.pending_since
    WHERE pending_since <> state.pending_since OR trimmed::text IS DISTINCT FROM state.trimmed::text;
    DELETE FROM hub_of_hubs.change_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM hub_of_hubs.change_log l WHERE l.xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT chunk));
    DELETE FROM hub_of_hubs.change_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM hub_of_hubs.change_log l
        WHERE l.xid < pg_snapshot_xmax(state.trimmed) AND pg_visible_in_snapshot(l.xid, state.trimmed)
        LIMIT chunk));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed = chunk;
END $$;
REVOKE ALL ON FUNCTION hub_of_hubs.trim_change_log() FROM PUBLIC;
