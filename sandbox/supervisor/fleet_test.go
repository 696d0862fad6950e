package supervisor

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/relay"
)

// TestWatchGates checks that exactly the named links are cut when the file is acknowledged.
func TestWatchGates(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	defer func() { cancel(); _ = group.Wait() }()
	server := serveGreeting(t)
	gates, links := map[string]*relay.Gate{}, map[string]string{}
	for _, name := range []string{"fleet-0001", "fleet-0002"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		gates[name], links[name] = relay.NewGate(), listener.Addr().String()
		group.Go(func() error { return relay.Serve(ctx, listener, server, gates[name]) })
	}
	file := filepath.Join(t.TempDir(), "cut")
	group.Go(func() error { watchGates(ctx, gates, file); return nil })

	for _, step := range []struct{ name, names string }{
		{"nothing is cut, and the file is acknowledged", ""},
		{"one", "fleet-0001\n"},
		{"the other one", "fleet-0002\n"},
		{"both", "fleet-0001\nfleet-0002\n"},
		{"a cluster that has left the fleet", "fleet-0003\n"},
	} {
		if err := fleet.Replace(file, []byte(step.names)); err != nil {
			t.Fatal(err)
		}
		awaitContent(t, control.CutDone(file), step.names)
		for name, address := range links {
			if cut := strings.Contains(step.names, name); greets(t, address) == cut {
				t.Errorf("%s: %s is cut = %v, want %v", step.name, name, !cut, cut)
			}
		}
	}
}

func awaitContent(t *testing.T, file, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if content, err := os.ReadFile(file); err == nil && string(content) == want {
			return
		}
	}
	t.Fatalf("%s does not become %q", file, want)
}

// serveGreeting serves a byte to every connection.
func serveGreeting(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{1})
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// greets reports whether the server behind a link answers.
func greets(t *testing.T, address string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err == nil
}

func TestLoad(t *testing.T) {
	s := &supervisor{Options: Options{Fleet: Fleet{Clusters: 100, HubQPS: 400}}}
	if diff := cmp.Diff(controlplane.Load{Clusters: 100, QPS: 400}, s.load(0)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(controlplane.Load{}, s.load(1)); diff != "" {
		t.Errorf("a cluster other than the first hub: %s", diff)
	}
	s.Fleet.Clusters = 0
	if diff := cmp.Diff(controlplane.Load{}, s.load(0)); diff != "" {
		t.Errorf("a hub without a fleet: %s", diff)
	}
}

func TestFleetPrograms(t *testing.T) {
	s := &supervisor{Options: Options{Dir: "/sandbox", Programs: "/bin", Fleet: Fleet{Agents: " my-agents  --v=2 "}}}
	var got [][]string
	for _, spec := range s.fleetPrograms() {
		got = append(got, append([]string{spec.Name, spec.Path}, append(spec.Args, spec.Env...)...))
	}
	if diff := cmp.Diff([][]string{
		{"fleet/agents", "/bin/ocm-fleet", "--config=/sandbox/fleet/fleet.json"},
		{"fleet/addon-agents", "my-agents", "--v=2", "OCM_FLEET=/sandbox/fleet/fleet.json"},
	}, got); diff != "" {
		t.Error(diff)
	}
	s.Fleet.Agents = ""
	if got := s.fleetPrograms(); len(got) != 1 {
		t.Errorf("without --fleet-agents there are %d programs", len(got))
	}
}
