package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// DefaultQueryTimeout ends each call. The slowest query reads the rows of one policy on a million clusters.
const DefaultQueryTimeout = time.Minute

const (
	// defaultConns is the size of the pool where the URL does not set it. The default of pgx is the number of processors,
	// which is unrelated to the number of concurrent queries.
	defaultConns = 16
	// spareConns is the number of connections that Read does not use, one each for Changes, Heartbeats and the probe, so
	// that they do not wait for many reads.
	spareConns = 3
)

// Store is the database with the reports of leaf hubs. As a user with the role hub_of_hubs_status_reader it implements
// ChangeLog, Reader and HeartbeatReader of package status, with the role hub_of_hubs_status_writer Writer. On a database of
// hub-of-hubs that was not migrated, or without that role, Changes, Read, Scan and Heartbeats work all the same, by its own
// tables. It is safe for concurrent use.
type Store struct {
	pool      *pgxpool.Pool
	timeout   time.Duration
	namespace string
	secrets   []string
	changes   string
	reads     *semaphore.Weighted
	// layout is what the database had when it was last looked at; nil when that is due.
	layout atomic.Pointer[layout]
}

var (
	_ status.ChangeLog       = (*Store)(nil)
	_ status.Reader          = (*Store)(nil)
	_ status.HeartbeatReader = (*Store)(nil)
	_ status.Writer          = (*Store)(nil)
)

// Options configure a Store.
type Options struct {
	// URL is postgres://user:password@host:5432/database with the parameters of pgx, such as sslmode and pool_max_conns
	// (default 16).
	URL string
	// Namespace limits Read and Scan to the objects of one namespace. The default is all namespaces.
	Namespace string
	// QueryTimeout ends each call. The default is DefaultQueryTimeout.
	QueryTimeout time.Duration
}

// Open returns a Store without connecting: an unavailable database is an error of the calls, not of Open. An error names
// the invalid option and never shows the password.
func Open(ctx context.Context, options Options) (*Store, error) {
	config, err := parse(ctx, options.URL)
	if err != nil {
		return nil, err
	}
	if options.QueryTimeout < 0 {
		return nil, fmt.Errorf("the query timeout %s is negative", options.QueryTimeout)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, errors.New("prepare the database connections: " + redact(err.Error(), secretsOf(options.URL)))
	}
	store := &Store{
		pool:      pool,
		timeout:   options.QueryTimeout,
		namespace: options.Namespace,
		secrets:   secretsOf(options.URL),
		changes:   changesQuery(),
		reads:     semaphore.NewWeighted(readsAtOnce(config.MaxConns)),
	}
	if store.timeout == 0 {
		store.timeout = DefaultQueryTimeout
	}
	return store, nil
}

// readsAtOnce returns how many connections of the pool Read may use at once.
func readsAtOnce(conns int32) int64 { return max(1, int64(conns)-spareConns) }

// parse returns the pool's configuration for a URL. The only startup parameter is the application's name, because poolers
// such as PgBouncer reject most others (https://www.pgbouncer.org/config.html#ignore_startup_parameters).
func parse(ctx context.Context, raw string) (*pgxpool.Config, error) {
	if err := checkURL(raw); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("the database URL (DATABASE_URL) is wrong: %s; %s",
			redact(err.Error(), secretsOf(raw)), hintFor(err.Error()))
	}
	mode, err := translateV4(config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if mode != "" {
		klog.FromContext(ctx).Info("Translated the database URL's parameters of pgx v4", "to", mode)
	}
	if !hasParameter(raw, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "hub-of-hubs-status"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	// A call that is cancelled ends on the server as well.
	config.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Second}
	}
	return config, nil
}

// Close closes the connections and waits for the calls that use them.
func (s *Store) Close() {
	s.pool.Close()
}

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.wrap(s.pool.Ping(ctx), "reach the database")
}

// CheckSchema returns an error if the database is not migrated to the version that this program needs, or to a later one,
// and if it is a standby, which accepts no writes and whose reader would lose changes.
func (s *Store) CheckSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var version int32
	var standby bool
	err := s.pool.QueryRow(ctx, "SELECT version, pg_is_in_recovery() FROM "+versionTable).Scan(&version, &standby)
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &refused) && refused.Code == codeUndefinedTable:
		version = 0
	case errors.As(err, &refused) && refused.Code == codeNoPrivilege:
		return fmt.Errorf("the database rejects the user %q: run the migrations as the tables' owner, then "+
			"GRANT hub_of_hubs_status_reader (or _writer) to the user: %w", s.pool.Config().ConnConfig.User, err)
	case err != nil:
		return s.wrap(err, "read the database's schema version")
	case standby:
		return s.wrap(errStandby, "read the database's schema version")
	}
	if needed := newestMigration(); version < needed {
		return fmt.Errorf("the database's schema is at version %d, version %d is needed: run the migrations", version, needed)
	}
	return nil
}

// wrap adds the operation that failed and removes the password from the message. The chain of causes stays. After an error
// that contradicts the layout, the next call detects it again.
func (s *Store) wrap(err error, format string, args ...any) error {
	if contradicts(err) {
		s.layout.Store(nil)
	}
	return describe(err, s.secrets, fmt.Sprintf(format, args...))
}

// read runs f in a read-only transaction with one snapshot.
func (s *Store) read(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error { return f(ctx, tx) })
}
