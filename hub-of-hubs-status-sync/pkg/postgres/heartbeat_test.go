//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"
)

// TestHeartbeatAcrossSummerTime: the column has no time zone. An hour that a zone skips is no hour without a heartbeat.
func TestHeartbeatAcrossSummerTime(t *testing.T) {
	d := newDatabase(t)
	// a zone of UTC whose summer time began five minutes ago
	begin := time.Now().UTC().Add(-5 * time.Minute)
	zone := fmt.Sprintf("<std>0<dst>-1,%d/%s,%d", begin.YearDay()-1, begin.Format("15:04:05"), (begin.YearDay()+60)%365)
	d.exec(fmt.Sprintf("SET timezone = '%s'", zone))
	d.exec("INSERT INTO status.leaf_hub_heartbeats SELECT 'hub1', (clock_timestamp() - interval '10 minutes')::timestamp")
	store := openURL(t, Options{URL: d.url + "&timezone=" + url.QueryEscape(zone)})
	all, err := store.Heartbeats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if age := all.Now.Sub(all.Last["hub1"]); age < 9*time.Minute || age > 30*time.Minute {
		t.Errorf("the heartbeat of ten minutes ago is %s old", age)
	}
}

// TestHeartbeatsStarted: the start is a moment of the same clock, and a restart moves it.
func TestHeartbeatsStarted(t *testing.T) {
	server, address := ownDatabase(t)
	store := openURL(t, Options{URL: address})
	before, err := store.Heartbeats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before.Started.IsZero() || before.Started.After(before.Now) {
		t.Errorf("it is %s and the server started at %s", before.Now, before.Started)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store reaches the database again", func(ctx context.Context) bool { return store.Ping(ctx) == nil })
	after, err := store.Heartbeats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !after.Started.After(before.Now) {
		t.Errorf("the server was started anew after %s, and says %s", before.Now, after.Started)
	}
}
