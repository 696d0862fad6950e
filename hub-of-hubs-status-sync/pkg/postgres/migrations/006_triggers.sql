---- tern: disable-tx ----
-- The triggers of each table are created in a transaction of its own, so that the migration never waits for one table while
-- it holds a lock of another: no writer of several tables can get into a deadlock with it. The database counts as migrated
-- when all of them exist.
{{ define "logged" }}
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '{{ .table }}'::regclass AND tgname = 'log_truncate') THEN
        CREATE TRIGGER log_insert AFTER INSERT ON {{ .table }} REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION hub_of_hubs.{{ .function }}();
        CREATE TRIGGER log_update AFTER UPDATE ON {{ .table }} REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION hub_of_hubs.{{ .function }}();
        CREATE TRIGGER log_delete AFTER DELETE ON {{ .table }} REFERENCING OLD TABLE AS old_rows
            FOR EACH STATEMENT EXECUTE FUNCTION hub_of_hubs.{{ .function }}();
        CREATE TRIGGER log_truncate AFTER TRUNCATE ON {{ .table }}
            FOR EACH STATEMENT EXECUTE FUNCTION hub_of_hubs.log_truncate();
    END IF;
END $$;
{{ end }}
{{ template "logged" dict "table" "status.compliance" "function" "log_compliance" }}
{{ range list "placementrules" "placements" "placementdecisions" "subscription_statuses" "subscription_reports" "managedclusteraddons" }}
{{ template "logged" dict "table" (printf "status.%s" .) "function" "log_payload" }}
{{ end }}
{{ range list "policies" "placementrules" "placements" "subscriptions" }}
{{ template "logged" dict "table" (printf "spec.%s" .) "function" "log_spec" }}
{{ end }}
