package postgres

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The parameters of pgx v4 for statements, which the original hub-of-hubs-status-sync uses.
const (
	statementCacheMode   = "statement_cache_mode"
	preferSimpleProtocol = "prefer_simple_protocol"
)

// translateV4 replaces the URL parameters that pgx v4 has for statements by the mode of pgx v5, and returns the new mode as a
// URL parameter, empty if there are none. Left alone, pgx v5 would send them to the server, which rejects the connection.
//
//	pgx v4                          pgx v5
//	statement_cache_mode=prepare    default_query_exec_mode=cache_statement
//	statement_cache_mode=describe   default_query_exec_mode=cache_describe
//	statement_cache_capacity=0      default_query_exec_mode=describe_exec
//	prefer_simple_protocol=true     default_query_exec_mode=simple_protocol
//
// See https://github.com/jackc/pgx/blob/v4.18.3/conn.go, ParseConfig. Of several the last one counts, as there.
func translateV4(config *pgx.ConnConfig) (mode string, err error) {
	before := config.DefaultQueryExecMode
	cache, hasCache := config.RuntimeParams[statementCacheMode]
	simple, hasSimple := config.RuntimeParams[preferSimpleProtocol]
	delete(config.RuntimeParams, statementCacheMode)
	delete(config.RuntimeParams, preferSimpleProtocol)
	switch {
	case cache == "describe":
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	case hasCache && cache != "prepare":
		return "", errors.New("the database URL (DATABASE_URL) has " + statementCacheMode + " with a value other than prepare and describe")
	}
	if config.StatementCacheCapacity == 0 && (hasCache || before == pgx.QueryExecModeCacheStatement) {
		config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	}
	if hasSimple {
		prefer, err := strconv.ParseBool(simple)
		if err != nil {
			return "", errors.New("the database URL (DATABASE_URL) has " + preferSimpleProtocol + " with a value other than true and false")
		}
		if prefer {
			config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		}
	}
	if !hasCache && !hasSimple && config.DefaultQueryExecMode == before {
		return "", nil
	}
	return "default_query_exec_mode=" + strings.ReplaceAll(config.DefaultQueryExecMode.String(), " ", "_"), nil
}
