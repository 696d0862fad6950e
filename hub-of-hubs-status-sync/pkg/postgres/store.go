package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// DefaultQueryTimeout ends what a database does not answer. The longest honest answer is the rows of one policy on a
// million clusters.
const DefaultQueryTimeout = time.Minute

const (
	// defaultConns is how many connections there are where the URL does not say: pgx would take as many as there are
	// processors, which has nothing to do with what waits for the database.
	defaultConns = 16
	// spareConns are the connections that Read leaves, one each for what changed, the heartbeats and the probe: they do
	// not wait for a thousand reads.
	spareConns = 3
)

// Store is a database that holds what leaf hubs report. What it may do depends on the role of its user: with
// hub_of_hubs_status_reader it implements ChangeLog, Reader and HeartbeatReader of package status, with
// hub_of_hubs_status_writer Writer. It is safe for concurrent use.
type Store struct {
	pool      *pgxpool.Pool
	timeout   time.Duration
	namespace string
	secrets   []string
	changes   string
	reads     *semaphore.Weighted
}

var (
	_ status.ChangeLog       = (*Store)(nil)
	_ status.Reader          = (*Store)(nil)
	_ status.HeartbeatReader = (*Store)(nil)
	_ status.Writer          = (*Store)(nil)
)

// Options say which database and how much of it.
type Options struct {
	// URL is postgres://user:password@host:5432/database with pgx's parameters, such as sslmode and pool_max_conns, which
	// is 16 where it does not say.
	URL string
	// Namespace limits Read and Scan to the objects of this namespace; empty: all.
	Namespace string
	// QueryTimeout ends each call; zero: DefaultQueryTimeout.
	QueryTimeout time.Duration
}

// Open prepares the connections to a database and makes none: a database that is away is an error of the calls, not of
// Open. The errors name what is wrong with the options and never show the password.
func Open(ctx context.Context, options Options) (*Store, error) {
	config, err := parse(options.URL)
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

// readsAtOnce is how many of so many connections Read may hold.
func readsAtOnce(conns int32) int64 { return max(1, int64(conns)-spareConns) }

// parse reads a URL. Nothing is set at the connection's start but the application's name: a pooler such as PgBouncer
// refuses the rest.
func parse(raw string) (*pgxpool.Config, error) {
	if err := checkURL(raw); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("the database URL (DATABASE_URL) is wrong: %s; %s",
			redact(err.Error(), secretsOf(raw)), hintFor(err.Error()))
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
	// A call that is given up is ended on the server, too.
	config.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Second}
	}
	return config, nil
}

// Close closes the connections and waits for the calls that use them.
func (s *Store) Close() {
	s.pool.Close()
}

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.wrap(s.pool.Ping(ctx), "reach the database")
}

// CheckSchema says whether the database is migrated as far as this program needs it; further is right, too. A standby is
// refused: it takes no writes, and a reader of changes would lose some.
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
		return fmt.Errorf("the database refuses its user %q: run the migrations as the tables' owner, then "+
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

// wrap says what was tried. It takes the password out, should a library ever put it in; the chain of causes stays.
func (s *Store) wrap(err error, format string, args ...any) error {
	return describe(err, s.secrets, fmt.Sprintf(format, args...))
}

// read runs f in one read-only snapshot.
func (s *Store) read(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error { return f(ctx, tx) })
}
