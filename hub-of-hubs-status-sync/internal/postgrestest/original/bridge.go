package original

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
)

// The original's users.
const (
	// ProcessUser is the status sync's user.
	ProcessUser = "hoh_process_user"
	// BridgeUser is the transport bridge's user.
	BridgeUser = "transport_bridge_user"
)

//go:embed original.sql
var schema string

// Create creates the original's schema in an empty database. A member of ProcessUser or BridgeUser, as
// [postgrestest.Server.NewUser] creates it, has exactly that user's rights.
func Create(ctx context.Context, server *postgrestest.Server, databaseURL string) error {
	if err := server.Exec(ctx, databaseURL, schema); err != nil {
		return fmt.Errorf("create the original's schema: %w", err)
	}
	return nil
}

// Batch is what the bridge writes for one bundle.
type Batch interface{ Statements() []Statement }

// Bridge writes as the transport bridge does.
type Bridge struct{ conn *pgx.Conn }

// NewBridge returns a Bridge with a connection as a member of BridgeUser.
func NewBridge(ctx context.Context, server *postgrestest.Server, databaseURL string) (*Bridge, error) {
	user, err := server.NewUser(ctx, databaseURL, BridgeUser)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("connect as the transport bridge: %w", err)
	}
	return &Bridge{conn: conn}, nil
}

// Close closes the connection.
func (b *Bridge) Close(ctx context.Context) error { return b.conn.Close(ctx) }

// Send writes a batch without BEGIN: PostgreSQL runs it as one implicit transaction.
func (b *Bridge) Send(ctx context.Context, batch Batch) error {
	var queued pgx.Batch
	for _, statement := range batch.Statements() {
		queued.Queue(statement.SQL, statement.Args...)
	}
	if err := b.conn.SendBatch(ctx, &queued).Close(); err != nil {
		return fmt.Errorf("write a bundle: %w", err)
	}
	return nil
}

// Beat writes a leaf hub's heartbeat.
func (b *Bridge) Beat(ctx context.Context, leafHub string) error {
	statement := Heartbeat(leafHub)
	if _, err := b.conn.Exec(ctx, statement.SQL, statement.Args...); err != nil {
		return fmt.Errorf("write the heartbeat of %s: %w", leafHub, err)
	}
	return nil
}
