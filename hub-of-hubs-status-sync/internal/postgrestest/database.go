package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/util/rand"
)

const dropWithin = 30 * time.Second

// NewDatabase creates an empty database and returns its superuser's URL and a function that drops it.
func (s *Server) NewDatabase(ctx context.Context) (string, func() error, error) {
	name := "test_" + rand.String(10)
	if err := s.Exec(ctx, s.base.String(), "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("create database %s: %w", name, err)
	}
	drop := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		return s.Exec(ctx, s.base.String(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}
	return s.URL(name), drop, nil
}

// NewUser creates a user that is a member of a role, and returns the user's URL of the database in databaseURL. The user
// stays until the server ends, because roles belong to the server.
func (s *Server) NewUser(ctx context.Context, databaseURL, role string) (string, error) {
	name := "test_" + rand.String(10)
	err := s.Exec(ctx, databaseURL, fmt.Sprintf("CREATE USER %s PASSWORD '%s' IN ROLE %s", name, Password, role))
	if err != nil {
		return "", fmt.Errorf("create a user in role %s: %w", role, err)
	}
	named, err := url.Parse(databaseURL)
	if err != nil {
		return "", err
	}
	named.User = url.UserPassword(name, Password)
	return named.String(), nil
}

// Exec runs a statement in the database of a URL.
func (s *Server) Exec(ctx context.Context, databaseURL, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the statement's error is enough
	_, err = conn.Exec(ctx, sql, args...)
	return err
}
