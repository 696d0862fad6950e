//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
)

// TestHeartbeatStates: the interval is that of the last heartbeat's writer, also when a hub goes from one writer to another.
func TestHeartbeatStates(t *testing.T) {
	d := newDatabase(t)
	ours, bridge, sync := d.open(writer), d.bridgeBeats(d.url), d.open(reader)
	ourBeat := func(interval time.Duration) {
		t.Helper()
		if err := ours.Heartbeat(t.Context(), "hub1", interval); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what string
		beat func()
		want time.Duration
	}{
		{"our report's", func() { ourBeat(10 * time.Second) }, 10 * time.Second},
		{"with another interval", func() { ourBeat(1500 * time.Millisecond) }, 1500 * time.Millisecond},
		{"the bridge's", func() { bridge("hub1") }, 0},
		{"the bridge's again", func() { bridge("hub1") }, 0},
		{"our report's after the bridge's", func() { ourBeat(time.Hour) }, time.Hour},
		{"of no interval", func() { ourBeat(0) }, 0},
		{"without an end", func() { d.exec("UPDATE status.leaf_hub_heartbeats SET beat = tsrange(last_timestamp, NULL)") }, 0},
		{"for ever", func() { d.exec("UPDATE status.leaf_hub_heartbeats SET beat = tsrange(last_timestamp, 'infinity')") }, 0},
		{"without a time", func() {
			d.exec("UPDATE status.leaf_hub_heartbeats SET last_timestamp = '-infinity', beat = '[-infinity,infinity)'")
		}, 0},
		{"our report's at last", func() { ourBeat(10 * time.Second) }, 10 * time.Second},
	} {
		c.beat()
		all, err := sync.Heartbeats(t.Context())
		if err != nil {
			t.Fatalf("a heartbeat %s: %v", c.what, err)
		}
		if got, found := all.Interval["hub1"]; got != c.want || found != (c.want > 0) {
			t.Errorf("after a heartbeat %s the interval is %s (%t), want %s", c.what, got, found, c.want)
		}
	}
	d.exec("ALTER TABLE status.leaf_hub_heartbeats DROP COLUMN beat")
	if all, err := sync.Heartbeats(t.Context()); err != nil || len(all.Last) != 1 || len(all.Interval) != 0 {
		t.Errorf("without the column: %+v, %v; want a heartbeat without an interval", all, err)
	}
}

// bridgeBeats returns a function that sends a heartbeat as the transport bridge does, as the user of a URL.
func (d *database) bridgeBeats(address string) func(leafHub string) {
	d.tb.Helper()
	conn, err := pgx.Connect(d.tb.Context(), address)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(d.tb.Context())) })
	return func(leafHub string) {
		d.tb.Helper()
		beat := original.Heartbeat(leafHub)
		if _, err := conn.Exec(d.tb.Context(), beat.SQL, beat.Args...); err != nil {
			d.tb.Fatal(err)
		}
	}
}

// The changes to and from summer time in America/New_York and Europe/Berlin, and a day without one.
var changesOfTime = []struct{ name, at string }{
	{"spring", "2026-03-08T07:00:00Z"}, {"spring", "2026-03-29T01:00:00Z"},
	{"autumn", "2026-10-25T01:00:00Z"}, {"autumn", "2026-11-01T06:00:00Z"},
	{"ordinary day", "2026-06-15T12:00:00Z"},
}

// TestHeartbeatZones: the time of a heartbeat of the transport bridge or of our report is read as it was written, in every zone
// of the database or of a program, and across every change of summer time. The log has a table of the results.
func TestHeartbeatZones(t *testing.T) {
	table := []string{"zone | set for | spring | autumn | ordinary day | age of a heartbeat just now"}
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		for _, setFor := range []string{"the database", "the writer's URL", "the sync's URL"} {
			d := newDatabase(t)
			writing, reading := d.url, d.url
			switch setFor {
			case "the database":
				d.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), '` + zone + `'); END $$`)
			case "the writer's URL":
				writing += "&timezone=" + url.QueryEscape(zone)
			case "the sync's URL":
				reading += "&timezone=" + url.QueryEscape(zone)
			}
			results := d.zone(t, zone+", "+setFor, writing, reading)
			table = append(table, strings.Join(append([]string{zone, setFor}, results...), " | "))
		}
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// zone writes and reads heartbeats by two URLs, and returns the results.
func (d *database) zone(t *testing.T, what, writing, reading string) (results []string) {
	t.Helper()
	store := openURL(t, Options{URL: reading})
	d.bridgeBeats(writing)("bridge")
	if err := openURL(t, Options{URL: writing}).Heartbeat(t.Context(), "ours", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	all, err := store.Heartbeats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	age, ours := all.Now.Sub(all.Last["bridge"]), all.Now.Sub(all.Last["ours"])
	if ours < 0 || ours > age || age > time.Minute || len(all.Interval) != 1 || all.Interval["ours"] != 10*time.Second {
		t.Errorf("%s: a heartbeat just now is %s old, then ours %s, intervals %v", what, age, ours, all.Interval)
	}
	wrong := d.writeAcross(t, writing, store)
	for _, column := range []string{"spring", "autumn", "ordinary day"} {
		result := "right"
		if len(wrong[column]) > 0 {
			result = fmt.Sprintf("%d wrong", len(wrong[column]))
			t.Errorf("%s, %s: %v", what, column, wrong[column])
		}
		results = append(results, result)
	}
	return append(results, age.String())
}

// writeAcross writes heartbeats around every change of time, each 10 minutes, as the bridge does, and returns those that are
// read as another time.
func (d *database) writeAcross(t *testing.T, writing string, store *Store) map[string][]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), writing)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	insert := strings.ReplaceAll(original.Heartbeat("").SQL, "now()", "$2::timestamptz")
	wrong := map[string][]string{}
	for _, change := range changesOfTime {
		middle, err := time.Parse(time.RFC3339, change.at)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]time.Time{}
		d.exec("TRUNCATE status.leaf_hub_heartbeats")
		for at := middle.Add(-3 * time.Hour); !at.After(middle.Add(3 * time.Hour)); at = at.Add(10 * time.Minute) {
			name := at.Format(time.RFC3339)
			want[name] = at
			if _, err := conn.Exec(t.Context(), insert, name, at); err != nil {
				t.Fatal(err)
			}
		}
		d.exec("UPDATE status.leaf_hub_heartbeats SET beat = tsrange(last_timestamp, last_timestamp + interval '1 hour')")
		all, err := store.Heartbeats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, at := range want {
			if got, interval := all.Last[name], all.Interval[name]; !got.Equal(at) || interval != time.Hour {
				wrong[change.name] = append(wrong[change.name], fmt.Sprintf("%s is read as %s, each %s", name, got, interval))
			}
		}
	}
	return wrong
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
