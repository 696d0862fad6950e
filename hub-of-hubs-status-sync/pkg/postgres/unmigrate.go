package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/klog/v2"
)

// removableQuery returns the removable objects of the database.
const removableQuery = `
WITH ours AS (SELECT oid FROM pg_proc WHERE pronamespace = to_regnamespace('` + logSchema + `'))
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
UNION ALL
SELECT '` + string(aSchema) + `', '` + logSchema + `', '' WHERE to_regnamespace('` + logSchema + `') IS NOT NULL
ORDER BY 1, 2, 3`

// unmigrateInterrupted reports whether Unmigrate was interrupted: it drops the version first, and the functions last.
const unmigrateInterrupted = `to_regclass('` + versionTable + `') IS NULL
	AND EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('` + logSchema + `'))`

// Unmigrate removes what Migrate added to the tables of hub-of-hubs, so that the original programs find their database as it
// was: triggers, indexes that use functions of the migrations, the table of add-ons, and the schema hub_of_hubs. Other indexes,
// tables, columns and the roles stay. The user of the URL has to own the tables. Writers and a status sync may go on
// meanwhile, as with Migrate, and it goes on where an interrupted one stopped.
func Unmigrate(ctx context.Context, url string) error {
	return unmigrateWithin(ctx, url, lockWithin)
}

func unmigrateWithin(ctx context.Context, url string, patience time.Duration) error {
	return locked(ctx, url, patience, "remove the migrations from the database", (*migration).unmigrate)
}

func (m *migration) unmigrate(ctx context.Context) error {
	rows, err := m.conn.Query(ctx, removableQuery, []string{versionTable, logStateTable, addonsTable})
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (object removable, err error) {
		return object, row.Scan(&object.kind, &object.name, &object.table)
	})
	if err != nil {
		return err
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
