package services

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/services/plan"
)

// loopback stands for the namespace: the whole of 127.0.0.0/8 is local.
type loopback struct{}

func (loopback) Do(f func() error) error { return f() }

// testRelays returns relays that end with the test.
func testRelays(t *testing.T) (*relays, context.Context) {
	t.Helper()
	r := newRelays(Options{Network: loopback{}}.withDefaults())
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		r.close()
	})
	return r, ctx
}

// tcpServer answers each connection with its address, and echoes.
func tcpServer(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
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
			_, _ = fmt.Fprintf(conn, "%s\n", listener.Addr())
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// udpServer answers each datagram with its address.
func udpServer(t *testing.T) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 64); ; {
			_, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(conn.LocalAddr().String()), from)
		}
	}()
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

// free returns an address without a listener.
func free(t *testing.T, network string) netip.AddrPort {
	t.Helper()
	if network == "udp4" {
		conn, err := net.ListenPacket(network, "127.0.0.2:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		return netip.MustParseAddrPort(conn.LocalAddr().String())
	}
	listener, err := net.Listen(network, "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return netip.MustParseAddrPort(listener.Addr().String())
}

func dialTo(t *testing.T, network string, at netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// greeting returns the first line from a server.
func greeting(t *testing.T, conn net.Conn) string {
	t.Helper()
	buffer := make([]byte, 64)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(buffer[:n]))
}

func to(endpoints ...netip.AddrPort) plan.Backends { return plan.Backends{Endpoints: endpoints} }

func TestRelaysOfTCP(t *testing.T) {
	r, ctx := testRelays(t)
	one, two := tcpServer(t), tcpServer(t)
	at := plan.Port{Protocol: corev1.ProtocolTCP, Address: free(t, "tcp4")}
	apply := func(want map[plan.Port]plan.Backends) {
		t.Helper()
		if err := r.apply(ctx, want); err != nil {
			t.Fatal(err)
		}
	}
	apply(map[plan.Port]plan.Backends{at: to(one)})
	stays := dialTo(t, "tcp4", at.Address)
	if got := greeting(t, stays); got != one.String() {
		t.Errorf("the only endpoint: got %s, want %s", got, one)
	}
	apply(map[plan.Port]plan.Backends{at: to(two)})
	if got := greeting(t, dialTo(t, "tcp4", at.Address)); got != two.String() {
		t.Errorf("after a change of the endpoints: got %s, want %s", got, two)
	}

	apply(nil)
	if _, err := net.Dial("tcp4", at.Address.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without endpoints: got %v, want a refusal", err)
	}
	if _, err := stays.Write([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	if got := greeting(t, stays); got != "still here" {
		t.Errorf("open connection: got %q", got)
	}
}

func TestRelaysResetWhatAnEndpointRefuses(t *testing.T) {
	r, ctx := testRelays(t)
	at := plan.Port{Protocol: corev1.ProtocolTCP, Address: free(t, "tcp4")}
	if err := r.apply(ctx, map[plan.Port]plan.Backends{at: to(free(t, "tcp4"))}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp4", at.Address.String())
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = io.ReadAll(conn)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestRelaysOfUDP(t *testing.T) {
	r, ctx := testRelays(t)
	one, two := udpServer(t), udpServer(t)
	at := plan.Port{Protocol: corev1.ProtocolUDP, Address: free(t, "udp4")}
	apply := func(want map[plan.Port]plan.Backends) {
		t.Helper()
		if err := r.apply(ctx, want); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(conn net.Conn) string {
		t.Helper()
		if _, err := conn.Write([]byte("who?")); err != nil {
			t.Fatal(err)
		}
		return greeting(t, conn)
	}
	apply(map[plan.Port]plan.Backends{at: to(one, two)})
	first, second := dialTo(t, "udp4", at.Address), dialTo(t, "udp4", at.Address)
	got := [4]string{ask(first), ask(second), ask(first), ask(second)}
	if want := [4]string{one.String(), two.String(), one.String(), two.String()}; got != want {
		t.Errorf("servers of two clients: got %v, want %v", got, want)
	}
	apply(map[plan.Port]plan.Backends{at: to(two)})
	if got := ask(first); got != two.String() {
		t.Errorf("after its endpoint has left: got %s, want %s", got, two)
	}
	apply(nil)
	_, err := second.Write([]byte("who?"))
	if err == nil {
		_, err = second.Read(make([]byte, 64))
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without endpoints: got %v, want a refusal", err)
	}
}

// TestRelaysTryAgain checks that a port that cannot be opened is an error, and is opened later.
func TestRelaysTryAgain(t *testing.T) {
	r, ctx := testRelays(t)
	taken, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(taken.Addr().String())
	want := map[plan.Port]plan.Backends{{Protocol: corev1.ProtocolTCP, Address: at}: to(tcpServer(t))}
	if err := r.apply(ctx, want); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use: got %v", err)
	}
	_ = taken.Close()
	if err := r.apply(ctx, want); err != nil {
		t.Error(err)
	}
	greeting(t, dialTo(t, "tcp4", at))
}
