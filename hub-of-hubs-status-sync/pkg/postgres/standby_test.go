//go:build postgres

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// standby lets a server that was killed go on as a standby, which can be promoted.
func standby(t *testing.T, server *postgrestest.Server) {
	t.Helper()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(server.Dir(), "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPromoted: a standby that is promoted is on another timeline at once, although the control file has it only after the
// next checkpoint, which the server spreads over minutes. Changes that were committed on the old primary may be lost.
func TestPromoted(t *testing.T) {
	server, address := ownDatabase(t)
	d := &database{tb: t, server: server, url: address}
	d.connect()
	d.world()
	d.exec("ALTER SYSTEM SET checkpoint_timeout = '1h'")
	d.exec("ALTER SYSTEM SET checkpoint_completion_target = '1'")
	store := d.open(reader)
	_, primary := look(t, store, "")
	standby(t, server)
	eventually(t, "the standby answers", func(ctx context.Context) bool { return server.Ping(ctx) == nil })
	d.connect()
	if promoted := d.text("SELECT pg_promote()"); promoted != "true" {
		t.Fatalf("promoted: %s", promoted)
	}
	var changes status.Changes
	eventually(t, "the store reaches the new primary", func(ctx context.Context) (reached bool) {
		var err error
		changes, err = store.Changes(ctx, primary.Next)
		return err == nil
	})
	if !changes.Reset {
		t.Errorf("no reset at the old primary's cursor %s, the new one's is %s", primary.Next, changes.Next)
	}
	if control := d.text("SELECT timeline_id FROM pg_control_checkpoint()"); control != "1" {
		t.Errorf("the control file has the timeline %s already: the test shows nothing", control)
	}
}

// TestStandby: a standby does not know the transactions that run on its primary, so changes would be lost. A URL that
// names a standby is an error.
func TestStandby(t *testing.T) {
	server, address := ownDatabase(t)
	store := openURL(t, Options{URL: address})
	if err := store.CheckSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, at := look(t, store, "")
	standby(t, server)
	eventually(t, "the standby answers", func(ctx context.Context) bool { return store.Ping(ctx) == nil })
	_, changesErr := store.Changes(t.Context(), at.Next)
	_, readErr := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")})
	_, heartbeatsErr := store.Heartbeats(t.Context())
	for what, err := range map[string]error{
		"check": store.CheckSchema(t.Context()), "readable": store.CheckReadable(t.Context()), "changes": changesErr, "read": readErr, "heartbeats": heartbeatsErr,
	} {
		if err == nil || !strings.Contains(err.Error(), "is a standby") || !strings.Contains(err.Error(), "target_session_attrs=read-write") {
			t.Errorf("%s: got %v, want to be told that it is a standby and what to do", what, err)
		}
	}
}
