package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const heartbeatTable = "status.leaf_hub_heartbeats"

// layout is what a user can read of the database. A database of hub-of-hubs has every table but those of the migrations.
type layout struct {
	// unlogged is why the log of changes cannot be read, with the remedy. It is empty if it can; then every table of
	// neededTables is readable, and the functions of the migrations exist.
	unlogged string
	// readable are the tables that the user can read.
	readable map[string]bool
}

// reads reports whether the rows of a kind can be read. Those of an AddOnSummary need the migrations.
func (l *layout) reads(kind aggregated) bool {
	return l.unlogged == "" || kind.spec != "" && len(l.unreadable(kind.tables())) == 0
}

func (l *layout) unreadable(tables []string) []string {
	return slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return l.readable[table] })
}

// readsNothing reports whether the rows of no kind can be read.
func (l *layout) readsNothing() bool { return !slices.ContainsFunc(aggregatedKinds, l.reads) }

// neededTables returns the tables that following the log of changes needs.
func neededTables() []string {
	needed := []string{versionTable, logTable, logStateTable, heartbeatTable}
	for _, kind := range aggregatedKinds {
		needed = append(needed, kind.tables()...)
	}
	slices.Sort(needed)
	return slices.Compact(needed)
}

// grantTo returns the SQL that grants the reader's role to a user, whose name is quoted where SQL needs it. It has no double
// quotes unless the name has one, because a log line would have them with backslashes, and so could not be pasted into psql.
func grantTo(user, quoted string) string {
	if user == quoted {
		return "GRANT hub_of_hubs_status_reader TO " + user
	}
	return "DO $$BEGIN EXECUTE format('GRANT hub_of_hubs_status_reader TO %I', '" + strings.ReplaceAll(user, "'", "''") + "'); END$$"
}

// newLayout returns the layout of a database at a version (zero if unknown) that has the tables present, of which the user
// can read some.
func newLayout(user, quoted string, version int32, present, readable []string) *layout {
	l := &layout{readable: map[string]bool{}}
	for _, table := range readable {
		l.readable[table] = true
	}
	grant := grantTo(user, quoted)
	unreadable := l.unreadable(neededTables())
	switch needed := newestMigration(); {
	case !slices.Contains(present, versionTable):
		l.unlogged = "the database is not migrated: run `hub-of-hubs-status-sync migrate` as the owner of its tables, then " + grant
	case l.readable[versionTable] && version < needed:
		l.unlogged = fmt.Sprintf("the database's schema is at version %d, version %d is needed: run `hub-of-hubs-status-sync migrate` "+
			"as the owner of its tables", version, needed)
	case len(unreadable) > 0:
		l.unlogged = fmt.Sprintf("the user %s cannot read %s: %s", user, strings.Join(unreadable, ", "), grant)
	default:
		return l
	}
	if left := l.leftOut(); left != "" {
		l.unlogged += "; until then not synced: " + left
	}
	return l
}

// leftOut names the kinds that cannot be read, and why.
func (l *layout) leftOut() string {
	var left []string
	for _, kind := range aggregatedKinds {
		switch unreadable := l.unreadable(kind.tables()); {
		case l.reads(kind):
		case len(unreadable) == 0:
			left = append(left, string(kind.kind))
		default:
			left = append(left, fmt.Sprintf("%s (cannot read %s)", kind.kind, strings.Join(unreadable, ", ")))
		}
	}
	if !l.readable[heartbeatTable] {
		left = append(left, fmt.Sprintf("stale leaf hubs (cannot read %s)", heartbeatTable))
	}
	return strings.Join(left, ", ")
}

// tablesQuery returns the user, also as SQL needs its name, the tables of hub-of-hubs and of the migrations, and those that the
// user can read. to_regclass would return an error for a schema without the right USAGE. PostgreSQL 10 knows all of it.
const tablesQuery = `SELECT pg_is_in_recovery(), current_user::text, quote_ident(current_user),
	coalesce(array_agg(t.name), '{}'), coalesce(array_agg(t.name) FILTER (WHERE t.readable), '{}')
FROM (SELECT n.nspname || '.' || c.relname AS name,
		has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname IN ('spec', 'status', 'hub_of_hubs')) t`

// detect reads the layout and remembers it. It returns an error if no kind can be read.
func (s *Store) detect(ctx context.Context) (*layout, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var standby bool
	var user, quoted string
	var present, readable []string
	if err := s.pool.QueryRow(ctx, tablesQuery).Scan(&standby, &user, &quoted, &present, &readable); err != nil {
		return nil, err
	}
	if standby {
		return nil, errStandby
	}
	var version int32
	if slices.Contains(readable, versionTable) {
		err := s.pool.QueryRow(ctx, "SELECT version FROM "+versionTable).Scan(&version)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, err
		}
	}
	found := newLayout(user, quoted, version, present, readable)
	if found.readsNothing() {
		return nil, errors.New(found.unlogged)
	}
	s.layout.Store(found)
	return found, nil
}

// current returns the layout as last detected. While the log of changes cannot be read, Changes detects it again.
func (s *Store) current(ctx context.Context) (*layout, error) {
	if known := s.layout.Load(); known != nil {
		return known, nil
	}
	return s.detect(ctx)
}

// CheckReadable returns an error if the status sync can read no kind, or if the server is a standby. A database that is not
// migrated is no error: the status sync scans it.
func (s *Store) CheckReadable(ctx context.Context) error {
	_, err := s.detect(ctx)
	return s.wrap(err, "look for the tables of hub-of-hubs")
}

// contradicts reports whether an error shows that the layout is another one.
func contradicts(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) &&
		slices.Contains([]string{codeUndefinedTable, codeUndefinedSchema, codeNoPrivilege}, refused.Code)
}
