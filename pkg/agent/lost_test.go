package agent

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// network is what lies between an agent and its hub.
type network struct {
	t        *testing.T
	listener net.Listener
	to       string

	mu    sync.Mutex
	down  bool
	hangs bool
	tries int
	open  []net.Conn
}

func newNetwork(t *testing.T, to string) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{t: t, listener: listener, to: to}
	var group sync.WaitGroup
	group.Go(func() { n.accept(&group) })
	t.Cleanup(func() {
		_ = listener.Close()
		n.set(true, false)
		group.Wait()
	})
	return n
}

func (n *network) accept(group *sync.WaitGroup) {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		n.tries++
		n.open = append(n.open, client)
		down, hangs := n.down, n.hangs
		n.mu.Unlock()
		switch {
		case down:
			_ = client.Close()
		case hangs:
			// No answer ever comes.
		default:
			group.Go(func() { n.carry(client) })
		}
	}
}

func (n *network) carry(client net.Conn) {
	hub, err := net.Dial("tcp", n.to)
	if err != nil {
		_ = client.Close()
		return
	}
	n.mu.Lock()
	n.open = append(n.open, hub)
	n.mu.Unlock()
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, hub}, {hub, client}} {
		group.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		})
	}
	group.Wait()
}

// set closes every connection and sets how the next ones fail, if they do.
func (n *network) set(down, hangs bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.hangs, n.tries = down, hangs, 0
	for _, c := range n.open {
		_ = c.Close()
	}
	n.open = nil
}

func (n *network) tried() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tries
}

// away starts an agent that has copied a, b and c over this network.
func away(t *testing.T) (*site, *network) {
	t.Helper()
	s := newSite(t)
	s.source("b")
	s.source("c")
	n := newNetwork(t, s.hub.HTTP().Listener.Addr().String())
	data := s.good()
	data["kubeconfig"] = []byte(s.ca.Kubeconfig("https://" + n.listener.Addr().String()))
	s.put(data)
	s.start()
	s.reports("True/Synced: 3 of 3 ConfigMaps synced")
	return s, n
}

// TestLostConnection: without the hub the copies stay (docs/design.md#rule-5-prune), and
// the agent reports it and backs off. Changes arrive when the hub is back.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	s, n := away(t)
	n.set(true, false)
	start := time.Now()
	s.source("new")
	s.hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "cluster1"},
		Data: map[string]string{"k": "changed"}})
	s.hub.Remove("configmaps", "cluster1", "c")
	s.saysThatTheHubIsAway()
	for _, name := range []string{"a", "b", "c"} {
		if !s.copied(name) {
			t.Errorf("copy %s is gone", name)
		}
	}
	if tried, lasted := n.tried(), time.Since(start); tried > 40 {
		t.Errorf("%d connections in %s", tried, lasted)
	} else {
		t.Logf("%d connections in %s", tried, lasted)
	}
	n.set(false, false)
	back := time.Now()
	// The back-off never takes that long.
	runtest.Within(t, 90*time.Second, "caught up", s.caughtUp)
	t.Logf("caught up %s after the hub was back", time.Since(back))
	runtest.Eventually(t, "connected again", func() bool { _, body := runtest.Get(s.metrics, "/readyz"); return !strings.Contains(body, "[-]") })
}

func (s *site) caughtUp() bool {
	b, ok := s.managed.Get("configmaps", "default", "b").(*corev1.ConfigMap)
	return s.copied("new") && !s.copied("c") && ok && b.Data["k"] == "changed"
}

// saysThatTheHubIsAway: in /readyz at once, and in an event.
func (s *site) saysThatTheHubIsAway() {
	s.t.Helper()
	runtest.Eventually(s.t, "not ready", func() bool {
		_, body := runtest.Get(s.metrics, "/readyz")
		return strings.Contains(body, "[-] hub: ")
	})
	runtest.Eventually(s.t, "event HubUnreachable", func() bool { return s.event("Warning", "HubUnreachable") })
}

// TestHungHub: one that accepts connections and never answers is no hub either.
func TestHungHub(t *testing.T) {
	t.Parallel()
	s, n := away(t)
	n.set(false, true)
	s.source("new")
	runtest.Within(t, 2*time.Minute, "says that the hub does not answer", func() bool { return s.event("Warning", "HubUnreachable") })
	if _, body := runtest.Get(s.metrics, "/readyz"); !strings.Contains(body, "[-] hub: ") {
		t.Errorf("ready: %s", body)
	}
	n.set(false, false)
	runtest.Eventually(t, "copied after the hub answers again", func() bool { return s.copied("new") })
}
