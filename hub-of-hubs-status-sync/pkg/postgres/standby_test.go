//go:build postgres

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestStandby: a standby does not know the transactions that run on its primary, so changes would be lost. A URL that
// names a standby is an error.
func TestStandby(t *testing.T) {
	server, address := ownDatabase(t)
	store := openURL(t, Options{URL: address})
	if err := store.CheckSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, at := look(t, store, "")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(server.Dir(), "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the standby answers", func(ctx context.Context) bool { return store.Ping(ctx) == nil })
	_, changesErr := store.Changes(t.Context(), at.Next)
	_, readErr := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1")})
	_, heartbeatsErr := store.Heartbeats(t.Context())
	for what, err := range map[string]error{
		"check": store.CheckSchema(t.Context()), "changes": changesErr, "read": readErr, "heartbeats": heartbeatsErr,
	} {
		if err == nil || !strings.Contains(err.Error(), "is a standby") || !strings.Contains(err.Error(), "target_session_attrs=read-write") {
			t.Errorf("%s: got %v, want to be told that it is a standby and what to do", what, err)
		}
	}
}
