-- The database as the playbook of hub-of-hubs creates it: types, tables, indexes, triggers, and both users' rights.
-- https://github.com/stolostron/hub-of-hubs-postgresql/tree/main/roles/create_tables/tasks
CREATE SCHEMA spec;
CREATE SCHEMA status;
CREATE SCHEMA local_spec;
CREATE SCHEMA local_status;
CREATE SCHEMA history;

CREATE FUNCTION trigger_set_timestamp() RETURNS trigger AS $$
BEGIN
    NEW.updated_at = now();
    RETURN NEW;
END $$ LANGUAGE plpgsql;

-- An insert moves the rows of the same name and namespace to the history by SELECT *: a column that a table of spec has and
-- its history lacks fails every insert.
DO $do$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['policies', 'placementrules', 'placementbindings', 'configs', 'subscriptions', 'channels',
        'applications', 'managedclustersets', 'managedclustersetbindings', 'placements'] LOOP
        EXECUTE format('CREATE TABLE spec.%I (id uuid PRIMARY KEY, payload jsonb NOT NULL,
            created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(),
            deleted boolean NOT NULL DEFAULT false)', t);
        EXECUTE format('CREATE TABLE history.%I (id uuid PRIMARY KEY, payload jsonb NOT NULL,
            created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(),
            deleted boolean NOT NULL DEFAULT false)', t);
        EXECUTE format($f$CREATE FUNCTION move_%1$s_to_history() RETURNS trigger AS $$
            BEGIN
                INSERT INTO history.%1$s SELECT * FROM spec.%1$s
                WHERE payload -> 'metadata' ->> 'name' = NEW.payload -> 'metadata' ->> 'name'
                AND payload -> 'metadata' ->> 'namespace' = NEW.payload -> 'metadata' ->> 'namespace';
                DELETE FROM spec.%1$s
                WHERE payload -> 'metadata' ->> 'name' = NEW.payload -> 'metadata' ->> 'name'
                AND payload -> 'metadata' ->> 'namespace' = NEW.payload -> 'metadata' ->> 'namespace';
                RETURN NEW;
            END $$ LANGUAGE plpgsql$f$, t);
        EXECUTE format('CREATE TRIGGER set_timestamp BEFORE UPDATE ON spec.%I
            FOR EACH ROW EXECUTE PROCEDURE trigger_set_timestamp()', t);
        EXECUTE format('CREATE TRIGGER set_timestamp BEFORE UPDATE ON history.%I
            FOR EACH ROW EXECUTE PROCEDURE trigger_set_timestamp()', t);
        EXECUTE format('CREATE TRIGGER move_to_history BEFORE INSERT ON spec.%I
            FOR EACH ROW EXECUTE PROCEDURE move_%s_to_history()', t, t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['policies', 'placementrules'] LOOP
        EXECUTE format('CREATE TABLE local_spec.%I (leaf_hub_name text, payload jsonb NOT NULL,
            created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now())', t);
        EXECUTE format($f$CREATE UNIQUE INDEX %I ON local_spec.%I (leaf_hub_name, (payload -> 'metadata' ->> 'uid'))$f$,
            t || '_leaf_hub_name_id_idx', t);
        EXECUTE format('CREATE TRIGGER set_timestamp BEFORE UPDATE ON local_spec.%I
            FOR EACH ROW EXECUTE PROCEDURE trigger_set_timestamp()', t);
    END LOOP;
END $do$;

CREATE TABLE spec.managed_clusters_labels (
    leaf_hub_name varchar(63) NOT NULL DEFAULT '', managed_cluster_name varchar(63) NOT NULL,
    labels jsonb NOT NULL DEFAULT '{}'::jsonb, deleted_label_keys jsonb NOT NULL DEFAULT '[]'::jsonb,
    updated_at timestamp NOT NULL DEFAULT now(), version bigint NOT NULL DEFAULT 0 CHECK (version >= 0));
CREATE UNIQUE INDEX managed_clusters_labels_leaf_hub_name_and_cluster_name_idx
    ON spec.managed_clusters_labels (leaf_hub_name, managed_cluster_name);
CREATE TABLE spec.managed_cluster_sets_tracking (
    cluster_set_name varchar(63) NOT NULL, leaf_hub_name varchar(63) NOT NULL,
    managed_clusters jsonb NOT NULL DEFAULT '[]'::jsonb, updated_at timestamp NOT NULL DEFAULT now());
CREATE UNIQUE INDEX managed_cluster_sets_tracking_cluster_set_name_idx
    ON spec.managed_cluster_sets_tracking (cluster_set_name, leaf_hub_name);

CREATE TYPE status.error_type AS ENUM ('disconnected', 'none');
CREATE TABLE status.managed_clusters (
    leaf_hub_name varchar(63) NOT NULL, payload jsonb NOT NULL, error status.error_type NOT NULL);
CREATE INDEX managed_clusters_metadata_name_idx ON status.managed_clusters ((payload -> 'metadata' ->> 'name'));
CREATE UNIQUE INDEX managed_clusters_leaf_hub_name_metadata_name_idx
    ON status.managed_clusters (leaf_hub_name, (payload -> 'metadata' ->> 'name'));

DO $do$
DECLARE
    s text;
BEGIN
    FOREACH s IN ARRAY ARRAY['status', 'local_status'] LOOP
        EXECUTE format($f$CREATE TYPE %I.compliance_type AS ENUM ('compliant', 'non_compliant', 'unknown')$f$, s);
        EXECUTE format('CREATE TABLE %1$I.compliance (id uuid NOT NULL, cluster_name varchar(63) NOT NULL,
            leaf_hub_name varchar(63) NOT NULL, error status.error_type NOT NULL, compliance %1$I.compliance_type NOT NULL)', s);
        EXECUTE format($f$CREATE INDEX compliance_leaf_hub_non_compliant_idx ON %I.compliance (leaf_hub_name, compliance)
            WHERE compliance <> 'compliant'$f$, s);
        EXECUTE format('CREATE INDEX compliance_leaf_hub_cluster_idx ON %I.compliance (leaf_hub_name, cluster_name)', s);
        EXECUTE format('CREATE UNIQUE INDEX compliance_leaf_hub_policy_cluster_idx
            ON %I.compliance (leaf_hub_name, id, cluster_name)', s);
        EXECUTE format('CREATE TABLE %I.policies_placement (leaf_hub_name varchar(63) NOT NULL, id uuid NOT NULL,
            placement jsonb NOT NULL, resource_version text NOT NULL)', s);
        EXECUTE format('CREATE UNIQUE INDEX policies_placement_leaf_hub_policy_idx
            ON %I.policies_placement (leaf_hub_name, id)', s);
    END LOOP;
END $do$;

CREATE TABLE status.aggregated_compliance (
    id uuid NOT NULL, leaf_hub_name varchar(63) NOT NULL, applied_clusters int NOT NULL, non_compliant_clusters int NOT NULL);
CREATE TABLE status.leaf_hub_heartbeats (
    leaf_hub_name varchar(63) NOT NULL, last_timestamp timestamp NOT NULL DEFAULT now());
CREATE UNIQUE INDEX leaf_hub_heartbeats_leaf_hub_idx ON status.leaf_hub_heartbeats (leaf_hub_name);

DO $do$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['subscription_statuses', 'subscription_reports', 'subscriptions', 'placementrules',
        'placements', 'placementdecisions'] LOOP
        EXECUTE format('CREATE TABLE status.%I (id uuid NOT NULL, leaf_hub_name varchar(63) NOT NULL,
            payload jsonb NOT NULL)', t);
        EXECUTE format($f$CREATE INDEX %I
            ON status.%I ((payload -> 'metadata' ->> 'name'), (payload -> 'metadata' ->> 'namespace'))$f$,
            t || '_payload_name_and_namespace_idx', t);
        EXECUTE format($f$CREATE UNIQUE INDEX %I
            ON status.%I (leaf_hub_name, (payload -> 'metadata' ->> 'name'), (payload -> 'metadata' ->> 'namespace'))$f$,
            t || '_leaf_hub_name_and_payload_name_namespace_idx', t);
    END LOOP;
END $do$;

-- Users belong to the server, so another test's database may have created them.
DO $do$
DECLARE
    u text;
BEGIN
    FOREACH u IN ARRAY ARRAY['hoh_process_user', 'transport_bridge_user'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I LOGIN', u);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
END $do$;
GRANT USAGE ON SCHEMA spec, status, history, local_spec, local_status TO hoh_process_user, transport_bridge_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA spec TO hoh_process_user;
GRANT SELECT ON ALL TABLES IN SCHEMA status TO hoh_process_user;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA history TO hoh_process_user;
GRANT SELECT ON ALL TABLES IN SCHEMA spec TO transport_bridge_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON spec.managed_clusters_labels, spec.managed_cluster_sets_tracking
    TO transport_bridge_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA status, local_status, local_spec TO transport_bridge_user;
