package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"k8s.io/klog/v2"
)

// functionsQuery returns the functions of the migrations.
const functionsQuery = `SELECT oid FROM pg_proc WHERE pronamespace = to_regnamespace('` + logSchema + `')`

// removableQuery returns the removable objects of the database.
const removableQuery = `
WITH ours AS (` + functionsQuery + `)
SELECT '` + string(aTrigger) + `', quote_ident(t.tgname), format('%I.%I', n.nspname, c.relname)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgfoid IN (SELECT oid FROM ours)
UNION ALL
SELECT '` + string(anIndex) + `', format('%I.%I', n.nspname, c.relname), ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'i' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
	AND d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM ours))
UNION ALL
SELECT '` + string(aTable) + `', tables.name, '' FROM unnest($1::text[]) AS tables(name) WHERE to_regclass(tables.name) IS NOT NULL
	AND (tables.name <> '` + addonsTable + `' OR 2 = (SELECT count(*) FROM pg_attribute
		WHERE attrelid = to_regclass(tables.name) AND attname IN ('leaf_hub_name', 'payload')))
UNION ALL
SELECT '` + string(aSchema) + `', '` + logSchema + `', '' WHERE to_regnamespace('` + logSchema + `') IS NOT NULL
ORDER BY 1, 2, 3`

// obstaclesQuery returns why the removable objects cannot be removed, or not without objects that the migrations did not create:
// those that use the functions, the tables or the schema, and tables of another owner. Triggers that execute the functions,
// and indexes that use them, are removable.
const obstaclesQuery = `
WITH ours AS (` + functionsQuery + `),
tables AS (SELECT to_regclass(name)::oid AS oid FROM unnest($1::text[]) AS tables(name)),
users AS (
	SELECT DISTINCT d.classid, d.objid, d.objsubid FROM pg_depend d WHERE d.deptype IN ('n', 'a') AND (
		d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM ours)
		OR d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM tables)
		OR d.refclassid = 'pg_namespace'::regclass AND d.refobjid = to_regnamespace('` + logSchema + `'))
)
SELECT pg_describe_object(classid, objid, objsubid) || ' uses it' FROM users WHERE NOT CASE classid
	WHEN 'pg_proc'::regclass THEN objid IN (SELECT oid FROM ours)
	WHEN 'pg_trigger'::regclass THEN true
	WHEN 'pg_class'::regclass THEN objid IN (SELECT oid FROM tables) OR EXISTS (
		SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indexrelid = objid AND (i.indrelid IN (SELECT oid FROM tables)
			OR c.relkind = 'i' AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = objid)))
	WHEN 'pg_attrdef'::regclass THEN EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = objid AND a.adrelid IN (SELECT oid FROM tables))
	WHEN 'pg_constraint'::regclass THEN EXISTS (SELECT FROM pg_constraint c WHERE c.oid = objid AND c.conrelid IN (SELECT oid FROM tables))
	ELSE false END
UNION
SELECT 'table ' || c.oid::regclass || ' has another owner' FROM pg_class c WHERE NOT pg_has_role(c.relowner, 'USAGE') AND (
	c.oid IN (SELECT oid FROM tables)
	OR EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgfoid IN (SELECT oid FROM ours))
	OR EXISTS (SELECT FROM pg_index i JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
		WHERE i.indrelid = c.oid AND d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM ours)))
UNION
SELECT 'schema ' || nspname || ' has another owner' FROM pg_namespace WHERE nspname = '` + logSchema + `' AND NOT pg_has_role(nspowner, 'USAGE')
ORDER BY 1`

// unmigrateInterrupted reports whether Unmigrate was interrupted: it drops the version first, and the functions last.
const unmigrateInterrupted = `to_regclass('` + versionTable + `') IS NULL
	AND EXISTS (` + functionsQuery + `)`

// Unmigrate removes what Migrate added to the tables of hub-of-hubs, so that the original programs find their database as it
// was: triggers, indexes that use functions of the migrations, the table of add-ons, and the schema hub_of_hubs. Other indexes,
// tables, columns and the roles stay. The user of the URL has to own the tables. The original's writers and a status sync may go
// on meanwhile, as with Migrate; a status report fails. It goes on where an interrupted one stopped. If objects that the
// migrations did not create use what it removes, it names them and removes nothing.
func Unmigrate(ctx context.Context, url string) error {
	return locked(ctx, url, lockWithin, "remove the migrations from the database", (*migration).unmigrate)
}

func (m *migration) unmigrate(ctx context.Context) error {
	rows, err := m.conn.Query(ctx, removableQuery, []string{versionTable, logStateTable, logTable, addonsTable})
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (object removable, err error) {
		return object, row.Scan(&object.kind, &object.name, &object.table)
	})
	if err != nil {
		return err
	}
	obstacles, err := texts(m.conn.Query(ctx, obstaclesQuery, tablesOf(found)))
	if err != nil {
		return err
	}
	if len(obstacles) > 0 {
		return fmt.Errorf("nothing was removed: %s: drop what uses the migrations, be the owner, and run the command again",
			strings.Join(obstacles, "; "))
	}
	statements := removal(found)
	for _, statement := range statements {
		err := m.whileLocked(ctx, func() (progressed bool, err error) {
			_, err = m.conn.Exec(ctx, statement)
			return false, err
		})
		if err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("Removed the migrations from the database", "changed", len(statements) > 0)
	return nil
}
