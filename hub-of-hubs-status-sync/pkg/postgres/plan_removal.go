package postgres

import (
	"maps"
	"slices"
	"strings"
)

// removable is an object in the database's catalog that the migrations created. Its names are quoted as SQL needs.
type removable struct {
	kind removableKind
	name string
	// table is a trigger's table.
	table string
}

type removableKind string

const (
	aTrigger removableKind = "trigger"
	anIndex  removableKind = "index"
	aTable   removableKind = "table"
	aSchema  removableKind = "schema"
)

const (
	logSchema     = "hub_of_hubs"
	logStateTable = "hub_of_hubs.change_log_state"
	logTable      = "hub_of_hubs.change_log"
	addonsTable   = "status.managedclusteraddons"
)

// removal returns the statements that remove the migrations, in the order in which each leaves a database that works. Each
// is a transaction of its own, and needs the lock of one table only, so a writer of several tables cannot get into a deadlock
// with it. None fails when its object is gone.
//
//  1. The version: the database counts as not migrated, so Migrate does not take a half for a whole.
//  2. The state of the log: a status sync that follows the log fails, and scans from then on. So it misses no change when
//     the triggers are gone.
//  3. The triggers, table by table: from then on no writer uses the log or the functions.
//  4. The indexes that use the functions. They are dropped concurrently, so no writer waits meanwhile.
//  5. The table of add-ons, whose columns use the functions.
//  6. The schema: the log and the functions. Unmigrate has checked that nothing else depends on them.
func removal(found []removable) []string {
	var statements []string
	drop := func(what string, objects ...removable) {
		for _, object := range objects {
			if slices.Contains(found, object) {
				statements = append(statements, "DROP "+what+" IF EXISTS "+object.name)
			}
		}
	}
	drop("TABLE", removable{kind: aTable, name: versionTable}, removable{kind: aTable, name: logStateTable})
	triggers := map[string][]string{}
	var indexes []removable
	for _, object := range found {
		switch object.kind {
		case aTrigger:
			triggers[object.table] = append(triggers[object.table], "DROP TRIGGER IF EXISTS "+object.name+" ON "+object.table)
		case anIndex:
			indexes = append(indexes, object)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(triggers)) {
		statements = append(statements, strings.Join(slices.Sorted(slices.Values(triggers[table])), "; "))
	}
	drop("INDEX CONCURRENTLY", indexes...)
	drop("TABLE", removable{kind: aTable, name: addonsTable})
	for _, object := range found {
		if object.kind == aSchema {
			statements = append(statements, "DROP SCHEMA IF EXISTS "+object.name+" CASCADE")
		}
	}
	return statements
}

// tablesOf returns the names of the tables.
func tablesOf(found []removable) []string {
	names := []string{}
	for _, object := range found {
		if object.kind == aTable {
			names = append(names, object.name)
		}
	}
	return names
}
