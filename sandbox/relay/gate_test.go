package relay

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestGateHoldsBackAndLetsGo: while the gate is shut nothing passes, neither on
// an open connection nor on a new one; what was sent meanwhile passes later, on
// the same connections.
func TestGateHoldsBackAndLetsGo(t *testing.T) {
	front, back := listen(t), echo(t)
	gate := NewGate()
	go func() { _ = Serve(t.Context(), front, back.Addr().String(), gate) }()
	open := dial(t, front)
	say(t, open, "before")
	hear(t, open, "before")

	gate.Set(false)
	fresh := dial(t, front)
	for _, conn := range []net.Conn{open, fresh} {
		say(t, conn, "during")
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("something passes a gate that is shut")
		}
		_ = conn.SetReadDeadline(time.Time{})
	}

	gate.Set(true)
	for _, conn := range []net.Conn{open, fresh} {
		hear(t, conn, "during")
		say(t, conn, "after")
		hear(t, conn, "after")
	}
}

// TestGateShutManyTimes: a connection survives any number of cuts, with
// everything that was sent on it, in order.
func TestGateShutManyTimes(t *testing.T) {
	front, back := listen(t), echo(t)
	gate := NewGate()
	go func() { _ = Serve(t.Context(), front, back.Addr().String(), gate) }()
	conn := dial(t, front)
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(i % 251)
	}
	go func() {
		_, _ = conn.Write(want)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	cuts := make(chan struct{})
	go func() {
		defer close(cuts)
		for range 50 {
			gate.Set(false)
			gate.Set(true)
		}
	}()
	got, err := io.ReadAll(conn)
	<-cuts
	if err != nil || string(got) != string(want) {
		t.Errorf("%d of %d bytes came back as they were sent: %v", len(got), len(want), err)
	}
}

func dial(t *testing.T, listener net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v, want %q", got, err, want)
	}
}
