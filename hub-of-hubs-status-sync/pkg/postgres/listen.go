package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

const (
	// quietFor is the idle time after which the connection is probed.
	quietFor    = time.Minute
	closeWithin = time.Second
)

// Listen implements status.ChangeLog, on a connection of its own. A pooler in transaction mode passes no notification on;
// Changes works nevertheless.
func (s *Store) Listen(ctx context.Context, notify func()) error {
	config := s.pool.Config().ConnConfig
	// a wait that times out must keep the connection open
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return s.wrap(err, "listen for changes")
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if err := s.exec(ctx, conn, "LISTEN hub_of_hubs_status"); err != nil {
		return s.wrap(err, "listen for changes")
	}
	notify()
	for {
		heard, err := s.wait(ctx, conn)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return s.wrap(err, "listen for changes")
		}
		if heard {
			notify()
		}
	}
}

// wait reports whether a notification arrived within quietFor. Without one it probes the connection.
func (s *Store) wait(ctx context.Context, conn *pgx.Conn) (bool, error) {
	quiet, cancel := context.WithTimeout(ctx, quietFor)
	defer cancel()
	_, err := conn.WaitForNotification(quiet)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() == nil && errors.Is(quiet.Err(), context.DeadlineExceeded) && !conn.IsClosed():
		return false, s.exec(ctx, conn, "SELECT 1")
	default:
		return false, err
	}
}

func (s *Store) exec(ctx context.Context, conn *pgx.Conn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	_, err := conn.Exec(ctx, sql)
	return err
}
