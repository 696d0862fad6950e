package relay

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
)

// echo listens and sends back what it gets, until the sender is done.
func echo(t *testing.T) net.Listener {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func TestServeCarriesBothWaysAndPassesTheEndOn(t *testing.T) {
	front, back := listen(t), echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, front, back.Addr().String(), nil) }()

	conn, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes back of %d: %v", len(got), len(sent), err)
	}

	idle, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := io.ReadAll(idle); err == nil && idle.Close() != nil {
		t.Error("an open connection outlived Serve")
	}
}

func TestServeClosesWhatItCannotConnect(t *testing.T) {
	front, gone := listen(t), listen(t)
	target := gone.Addr().String()
	_ = gone.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = Serve(ctx, front, target, nil) }()
	conn, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) != 0 {
		t.Errorf("read %q from a server that is not there", got)
	}
}

func TestServeDialKeepsConnectionsOfAClosedListener(t *testing.T) {
	front, back := listen(t), echo(t)
	done := make(chan error, 1)
	var client string
	go func() {
		done <- ServeDial(t.Context(), front, func(_ context.Context, from net.Conn) (net.Conn, error) {
			client = from.RemoteAddr().String()
			return net.Dial("tcp", back.Addr().String())
		}, nil)
	}()
	conn := dial(t, front)
	say(t, conn, "before")
	hear(t, conn, "before")
	_ = front.Close()
	say(t, conn, "after")
	hear(t, conn, "after")
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Errorf("ServeDial: %v", err)
	}
	if client != conn.LocalAddr().String() {
		t.Errorf("dial for the client %s, want %s", client, conn.LocalAddr())
	}
}
