package postgres

import (
	"crypto/x509"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeUndefinedTable   = "42P01"
	codeUndefinedSchema  = "3F000"
	codeNoPrivilege      = "42501"
	codeInvalidPassword  = "28P01"
	codeUniqueViolation  = "23505"
	codeLockNotAvailable = "55P03"
	codeDeadlock         = "40P01"
	classDataException   = "22"
	classIntegrityFailed = "23"
)

// errStandby is the error of a hot standby. Its snapshots do not list the transactions that run on the primary, so a cursor
// would skip their changes.
var errStandby = errors.New("the server is a standby: name the primary in DATABASE_URL, " +
	"or all servers and target_session_attrs=read-write")

// described is an error with the operation that failed, and without secrets.
type described struct {
	message string
	cause   error
}

func (d *described) Error() string { return d.message }

func (d *described) Unwrap() error { return d.cause }

// describe wraps err with the operation that failed and, for known causes, with what to do.
func describe(err error, secrets []string, tried string) error {
	if err == nil {
		return nil
	}
	message := tried + ": " + err.Error()
	var refused *pgconn.PgError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		message += "; " + authorityHint
	case !errors.As(err, &refused):
	case refused.Code == codeInvalidPassword:
		message += "; " + escapeHint
	case refused.Hint != "":
		message += "; " + refused.Hint
	}
	return &described{message: redact(message, secrets), cause: err}
}

// isData reports whether the database rejected a value, not the statement.
func isData(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (strings.HasPrefix(refused.Code, classDataException) ||
		strings.HasPrefix(refused.Code, classIntegrityFailed) && refused.Code != codeUniqueViolation)
}
