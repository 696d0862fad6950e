-- The tables of hub-of-hubs (https://github.com/stolostron/hub-of-hubs-postgresql). Existing ones are not changed, except for
-- one nullable column at the end of leaf_hub_heartbeats. The original transport bridge inserts rows without naming the
-- columns (INSERT INTO status.compliance VALUES …), so a column can only be added at the end of a table of status, nullable or
-- with a default. The original spec sync copies whole rows of spec to history, so no column can be added to a table of spec.
CREATE SCHEMA IF NOT EXISTS spec;
CREATE SCHEMA IF NOT EXISTS status;
CREATE SCHEMA IF NOT EXISTS local_spec;
CREATE SCHEMA IF NOT EXISTS local_status;
CREATE SCHEMA IF NOT EXISTS history;

-- The tables' own functions are in spec, so that they outlive the schema hub_of_hubs.
{{ range list "policies" "placementrules" "placementbindings" "configs" "subscriptions" "channels" "applications" "managedclustersets" "managedclustersetbindings" "placements" }}
CREATE TABLE IF NOT EXISTS history.{{ . }} (
    id uuid PRIMARY KEY,
    payload jsonb NOT NULL,
    created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp NOT NULL DEFAULT now(),
    deleted boolean NOT NULL DEFAULT false
);

DO $$
BEGIN
    IF to_regclass('spec.{{ . }}') IS NULL THEN
        CREATE TABLE spec.{{ . }} (
            id uuid PRIMARY KEY,
            payload jsonb NOT NULL,
            created_at timestamp NOT NULL DEFAULT now(),
            updated_at timestamp NOT NULL DEFAULT now(),
            deleted boolean NOT NULL DEFAULT false
        );
        CREATE OR REPLACE FUNCTION spec.set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $function$
        BEGIN
            NEW.updated_at = now();
            RETURN NEW;
        END $function$;
        CREATE TRIGGER set_timestamp BEFORE UPDATE ON spec.{{ . }}
            FOR EACH ROW EXECUTE FUNCTION spec.set_updated_at();
        CREATE OR REPLACE FUNCTION spec.move_{{ . }}_to_history() RETURNS trigger LANGUAGE plpgsql AS $function$
        BEGIN
            WITH moved AS (
                DELETE FROM spec.{{ . }}
                WHERE payload -> 'metadata' ->> 'name' = NEW.payload -> 'metadata' ->> 'name'
                  AND payload -> 'metadata' ->> 'namespace' = NEW.payload -> 'metadata' ->> 'namespace'
                RETURNING id, payload, created_at, updated_at, deleted
            )
            INSERT INTO history.{{ . }} (id, payload, created_at, updated_at, deleted)
            SELECT id, payload, created_at, updated_at, deleted FROM moved
            ON CONFLICT (id) DO UPDATE
            SET payload = excluded.payload, updated_at = excluded.updated_at, deleted = excluded.deleted;
            RETURN NEW;
        END $function$;
        CREATE TRIGGER move_to_history BEFORE INSERT ON spec.{{ . }}
            FOR EACH ROW EXECUTE FUNCTION spec.move_{{ . }}_to_history();
    END IF;
END $$;
{{ end }}

CREATE TABLE IF NOT EXISTS spec.managed_clusters_labels (
    leaf_hub_name varchar(63) NOT NULL DEFAULT '',
    managed_cluster_name varchar(63) NOT NULL,
    labels jsonb NOT NULL DEFAULT '{}'::jsonb,
    deleted_label_keys jsonb NOT NULL DEFAULT '[]'::jsonb,
    updated_at timestamp NOT NULL DEFAULT now(),
    version bigint NOT NULL DEFAULT 0 CHECK (version >= 0)
);

DO $$
BEGIN
    IF to_regtype('status.error_type') IS NULL THEN
        CREATE TYPE status.error_type AS ENUM ('disconnected', 'none');
    END IF;
    IF to_regtype('status.compliance_type') IS NULL THEN
        CREATE TYPE status.compliance_type AS ENUM ('compliant', 'non_compliant', 'unknown');
    END IF;
    IF to_regtype('local_status.compliance_type') IS NULL THEN
        CREATE TYPE local_status.compliance_type AS ENUM ('compliant', 'non_compliant', 'unknown');
    END IF;
END $$;

{{ range list "status" "local_status" }}
CREATE TABLE IF NOT EXISTS {{ . }}.compliance (
    id uuid NOT NULL,
    cluster_name varchar(63) NOT NULL,
    leaf_hub_name varchar(63) NOT NULL,
    error status.error_type NOT NULL,
    compliance {{ . }}.compliance_type NOT NULL
);
{{ end }}

CREATE TABLE IF NOT EXISTS status.aggregated_compliance (
    id uuid NOT NULL,
    leaf_hub_name varchar(63) NOT NULL,
    applied_clusters int NOT NULL,
    non_compliant_clusters int NOT NULL
);

CREATE TABLE IF NOT EXISTS status.managed_clusters (
    leaf_hub_name varchar(63) NOT NULL,
    payload jsonb NOT NULL,
    error status.error_type NOT NULL
);

CREATE TABLE IF NOT EXISTS status.leaf_hub_heartbeats (
    leaf_hub_name varchar(63) NOT NULL,
    last_timestamp timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')
);
-- From the last heartbeat to the next one, in UTC like last_timestamp. It counts only while it begins at last_timestamp:
-- another writer's heartbeat leaves it as it was.
ALTER TABLE status.leaf_hub_heartbeats ADD COLUMN IF NOT EXISTS beat tsrange;

-- The last one is this add-on's; hub-of-hubs has the others.
{{ range list "placementrules" "placements" "placementdecisions" "subscription_statuses" "subscription_reports" "managedclusteraddons" }}
CREATE TABLE IF NOT EXISTS status.{{ . }} (
    id uuid NOT NULL,
    leaf_hub_name varchar(63) NOT NULL,
    payload jsonb NOT NULL
);
{{ end }}
