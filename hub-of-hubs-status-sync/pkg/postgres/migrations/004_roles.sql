-- The roles of the status sync (reader) and the status report (writer). They cannot log in: grant them to the users in the
-- programs' DATABASE_URL.
DO $$
DECLARE
    missing text;
BEGIN
    FOREACH missing IN ARRAY ARRAY['hub_of_hubs_status_reader', 'hub_of_hubs_status_writer'] LOOP
        IF to_regrole(missing) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', missing);
            EXCEPTION
                -- roles belong to the server, so another database's migration may have created it
                WHEN duplicate_object OR unique_violation THEN NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION 'role % does not exist and may not be created by %', missing, current_user
                        USING ERRCODE = 'insufficient_privilege',
                              HINT = format('run CREATE ROLE %I NOLOGIN as a superuser, then migrate again', missing);
            END;
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA spec, status, hub_of_hubs TO hub_of_hubs_status_reader;
GRANT SELECT ON spec.policies, spec.placementrules, spec.placements, spec.subscriptions,
    status.compliance, status.placementrules, status.placements, status.placementdecisions,
    status.subscription_statuses, status.subscription_reports, status.managedclusteraddons,
    status.leaf_hub_heartbeats,
    hub_of_hubs.change_log, hub_of_hubs.change_log_state, hub_of_hubs.schema_version
    TO hub_of_hubs_status_reader;
GRANT EXECUTE ON FUNCTION hub_of_hubs.trim_change_log() TO hub_of_hubs_status_reader;

GRANT USAGE ON SCHEMA status, hub_of_hubs TO hub_of_hubs_status_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON status.compliance, status.placementrules, status.placements,
    status.placementdecisions, status.subscription_statuses, status.subscription_reports,
    status.managedclusteraddons, status.managed_clusters
    TO hub_of_hubs_status_writer;
GRANT SELECT, INSERT, UPDATE ON status.leaf_hub_heartbeats TO hub_of_hubs_status_writer;
GRANT SELECT ON hub_of_hubs.schema_version TO hub_of_hubs_status_writer;
