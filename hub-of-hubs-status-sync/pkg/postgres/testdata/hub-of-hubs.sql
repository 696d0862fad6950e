-- A part of the tables as hub-of-hubs creates them, with rows.
CREATE SCHEMA spec;
CREATE SCHEMA status;
CREATE SCHEMA history;
CREATE TABLE spec.policies (
    id uuid PRIMARY KEY, payload jsonb NOT NULL, created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp NOT NULL DEFAULT now(), deleted boolean NOT NULL DEFAULT false);
CREATE TABLE history.policies (LIKE spec.policies INCLUDING ALL);
CREATE FUNCTION move_policies_to_history() RETURNS trigger AS $$
BEGIN
    INSERT INTO history.policies SELECT * FROM spec.policies
    WHERE payload -> 'metadata' ->> 'name' = NEW.payload -> 'metadata' ->> 'name'
    AND payload -> 'metadata' ->> 'namespace' = NEW.payload -> 'metadata' ->> 'namespace';
    DELETE FROM spec.policies
    WHERE payload -> 'metadata' ->> 'name' = NEW.payload -> 'metadata' ->> 'name'
    AND payload -> 'metadata' ->> 'namespace' = NEW.payload -> 'metadata' ->> 'namespace';
    RETURN NEW;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER move_to_history BEFORE INSERT ON spec.policies
    FOR EACH ROW EXECUTE PROCEDURE move_policies_to_history();
CREATE TYPE status.error_type AS ENUM ('disconnected', 'none');
CREATE TYPE status.compliance_type AS ENUM ('compliant', 'non_compliant', 'unknown');
CREATE TABLE status.compliance (
    id uuid NOT NULL, cluster_name varchar(63) NOT NULL, leaf_hub_name varchar(63) NOT NULL,
    error status.error_type NOT NULL, compliance status.compliance_type NOT NULL);
CREATE UNIQUE INDEX compliance_leaf_hub_policy_cluster_idx ON status.compliance (leaf_hub_name, id, cluster_name);
CREATE TABLE status.placementrules (id uuid NOT NULL, leaf_hub_name varchar(63) NOT NULL, payload jsonb NOT NULL);
INSERT INTO spec.policies (id, payload) VALUES
    ('00000000-0000-4000-8000-000000000001', '{"metadata": {"name": "p1", "namespace": "default"}}');
INSERT INTO status.compliance VALUES
    ('00000000-0000-4000-8000-000000000001', 'cluster1', 'hub1', 'none', 'compliant');
