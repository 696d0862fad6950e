// Package relay relays TCP connections from listeners that were opened in one network namespace
// to addresses in another: so programs outside the sandbox reach the API servers inside.
//
// It copies bytes unchanged; TLS is between the two ends.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// dialTimeout limits a connection attempt to an address on this machine.
const dialTimeout = 5 * time.Second

// retry is the delay after a connection could not be accepted.
const retry = 100 * time.Millisecond

// Dial connects to the server for a client. If it fails, the client's connection is closed.
type Dial func(ctx context.Context, client net.Conn) (net.Conn, error)

// Serve accepts connections until ctx ends and relays each to the target while the gate is open;
// a nil gate always is. It returns after all its connections have ended.
func Serve(ctx context.Context, listener net.Listener, target string, gate *Gate) error {
	dialer := net.Dialer{Timeout: dialTimeout}
	return ServeDial(ctx, listener, func(ctx context.Context, _ net.Conn) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", target)
	}, gate)
}

// ServeDial is like Serve, and dial chooses each connection's server. If the listener is closed
// before ctx ends, open connections stay until one of their ends closes them.
func ServeDial(ctx context.Context, listener net.Listener, dial Dial, gate *Gate) error {
	var open sync.WaitGroup
	defer open.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Most likely the process is out of descriptors, which is temporary: no
			// reason to end the sandbox.
			klog.FromContext(ctx).Error(err, "Cannot accept a connection", "address", listener.Addr())
			if !pause(ctx) {
				return nil
			}
			continue
		}
		open.Go(func() { carry(ctx, conn, dial, gate) })
	}
}

// pause waits before the next attempt. It returns false if ctx ends first.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retry):
		return true
	}
}

// carry copies in both directions until both sides have closed or ctx ends.
func carry(ctx context.Context, client net.Conn, dial Dial, gate *Gate) {
	defer func() { _ = client.Close() }()
	if !gate.wait(ctx) {
		return
	}
	server, err := dial(ctx, client)
	if err != nil {
		return // the client's connection is closed, as if there were no server
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	defer gate.add(client)()
	defer gate.add(server)()
	var both sync.WaitGroup
	both.Go(func() { pipe(ctx, server, client, gate) })
	both.Go(func() { pipe(ctx, client, server, gate) })
	both.Wait()
}

// pipe copies one direction and then closes the writing half. It resumes a read that the gate has
// interrupted when the gate opens.
func pipe(ctx context.Context, to, from net.Conn, gate *Gate) {
	for {
		_, err := io.Copy(to, from)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !gate.resume(ctx, from) {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
