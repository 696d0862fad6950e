package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const port = 8443

// serve answers each connection to 0.0.0.0:8443 of the namespace with a name.
func serve(t *testing.T, ns *Namespace, name string) {
	t.Helper()
	var listener net.Listener
	err := ns.Do(func() (err error) {
		listener, err = net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, name)
			conn.Close()
		}
	}()
}

func attach(t *testing.T, b *Bridge, name string) *Namespace {
	t.Helper()
	ns, err := b.Attach(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Close(); err != nil {
			t.Error(err)
		}
	})
	return ns
}

func bridge(t *testing.T, name, gateway string) *Bridge {
	t.Helper()
	b, err := NewBridge(name, netip.MustParsePrefix(gateway))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deleteLink(name); err != nil {
			t.Error(err)
		}
	})
	return b
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func read(t *testing.T, conn net.Conn, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	data, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBridgeReachesPodsAndPodsReachIt(t *testing.T) {
	b := bridge(t, "br-one", "10.201.1.1/24")
	one, two := attach(t, b, "one"), attach(t, b, "two")
	serve(t, one, "one")
	serve(t, two, "two")
	other := bridge(t, "br-two", "10.201.2.1/24")
	if err := EnableForwarding(); err != nil {
		t.Fatal(err)
	}
	far := attach(t, other, "far")

	dialer := net.Dialer{Timeout: 10 * time.Second}
	dial := func(ns *Namespace, to netip.Addr) string {
		var conn net.Conn
		err := ns.Do(func() (err error) {
			conn, err = dialer.Dial("tcp4", netip.AddrPortFrom(to, port).String())
			return err
		})
		return read(t, conn, err)
	}
	got := map[string]string{}
	conn, err := one.Dial(timeout(t), port)
	got["loopback of one"] = read(t, conn, err)
	conn, err = two.Dial(timeout(t), port)
	got["loopback of two"] = read(t, conn, err)
	conn, err = dialer.Dial("tcp4", netip.AddrPortFrom(two.IP(), port).String())
	got["node to two"] = read(t, conn, err)
	got["one to two"] = dial(one, two.IP())
	got["other bridge to one"] = dial(far, one.IP())
	want := map[string]string{
		"loopback of one": "one", "loopback of two": "two",
		"node to two": "two", "one to two": "two", "other bridge to one": "one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who answered (-want +got):\n%s", diff)
	}

	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	node := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	for name, gateway := range map[string]netip.Addr{"own": b.Gateway(), "other": other.Gateway()} {
		err := one.Do(func() error {
			conn, err := dialer.Dial("tcp4", netip.AddrPortFrom(gateway, node).String())
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err != nil {
			t.Errorf("reach the %s gateway from a pod: %v", name, err)
		}
	}
}

func TestBridgeIsMadeOnce(t *testing.T) {
	first := bridge(t, "br-once", "10.201.3.1/24")
	second := bridge(t, "br-once", "10.201.3.1/24")
	if first.link.Attrs().Index != second.link.Attrs().Index {
		t.Error("the bridge was made again")
	}
}

func TestBridgeRefusesAnInterfaceOfAnotherKind(t *testing.T) {
	if _, err := NewBridge("lo", netip.MustParsePrefix("10.201.4.1/24")); err == nil {
		t.Error("no error for the loopback as a bridge")
	}
}

func TestBridgeGivesAddressesBack(t *testing.T) {
	b := bridge(t, "br-full", "10.201.5.1/30")
	ns := attach(t, b, "a name of a pod that is longer than the name of an interface can be")
	if _, err := b.Attach("too many"); !errors.Is(err, ErrExhausted) {
		t.Errorf("second pod on a bridge for one: got %v, want ErrExhausted", err)
	}
	for range 2 { // The second Close does nothing.
		if err := ns.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := netlink.LinkByName(ns.host); err == nil {
		t.Errorf("interface %s is still there", ns.host)
	}
	if err := ns.Do(func() error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Do after Close: got %v, want os.ErrClosed", err)
	}
	if again := attach(t, b, "again"); again.IP() != ns.IP() {
		t.Errorf("address: got %s, want %s", again.IP(), ns.IP())
	}
}

func TestBridgeStartsProcessesInside(t *testing.T) {
	b := bridge(t, "br-proc", "10.201.6.1/24")
	ns := attach(t, b, "pod")
	var inside bytes.Buffer
	cmd := exec.Command("readlink", "/proc/self/ns/net")
	cmd.Stdout = &inside
	if err := ns.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	outside, err := os.Readlink(threadNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.TrimSpace(inside.Bytes()); string(got) == outside || len(got) == 0 {
		t.Errorf("namespace of the process: %q, of the test: %q", got, outside)
	}
}

func TestBridgeDialHonoursItsContext(t *testing.T) {
	b := bridge(t, "br-dial", "10.201.7.1/24")
	ns := attach(t, b, "pod")
	if conn, err := ns.Dial(timeout(t), port); err == nil {
		conn.Close()
		t.Error("dial of a port without a listener: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := ns.Dial(ctx, port); err == nil {
		conn.Close()
		t.Error("dial with a cancelled context: no error")
	}
}

func TestBridgeNamespaceOwnsAddresses(t *testing.T) {
	prefix := netip.MustParsePrefix("10.96.0.0/16")
	reach := map[string]map[string]bool{}
	pods := map[string]*Namespace{}
	for name, gateway := range map[string]string{"br-own1": "10.201.8.1/24", "br-own2": "10.201.9.1/24"} {
		b := bridge(t, name, gateway)
		owner, err := b.AttachOwner("owner", prefix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := owner.Close(); err != nil {
				t.Error(err)
			}
		})
		pods[name], reach[name] = attach(t, b, "pod"), map[string]bool{}
		// both bridges have the prefix; an address listens on the first one alone
		listen := []string{"10.96.0.1"}
		if name == "br-own1" {
			listen = append(listen, "10.96.200.7")
		}
		for _, address := range listen {
			err := owner.Do(func() error {
				listener, err := net.Listen("tcp4", net.JoinHostPort(address, "443"))
				if err == nil {
					t.Cleanup(func() { listener.Close() })
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, pod := range pods {
		for _, address := range []string{"10.96.0.1:443", "10.96.200.7:443", "10.96.0.1:444"} {
			err := pod.Do(func() error {
				conn, err := net.DialTimeout("tcp4", address, 10*time.Second)
				if err == nil {
					conn.Close()
				}
				return err
			})
			if err != nil && !errors.Is(err, unix.ECONNREFUSED) {
				t.Errorf("%s: connect to %s: got %v, want success or a refusal at once", name, address, err)
			}
			reach[name][address] = err == nil
		}
	}
	want := map[string]map[string]bool{
		"br-own1": {"10.96.0.1:443": true, "10.96.200.7:443": true, "10.96.0.1:444": false},
		"br-own2": {"10.96.0.1:443": true, "10.96.200.7:443": false, "10.96.0.1:444": false},
	}
	if diff := cmp.Diff(want, reach); diff != "" {
		t.Errorf("reachable addresses (-want +got):\n%s", diff)
	}
	if conn, err := net.DialTimeout("tcp4", "10.96.0.1:443", time.Second); err == nil {
		conn.Close()
		t.Error("the node's namespace reaches the owned addresses")
	}
}
