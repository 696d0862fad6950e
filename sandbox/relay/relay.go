// Package relay carries TCP connections from listeners that were opened in one
// network namespace to addresses in the namespace where it runs: that is how
// programs outside the sandbox reach the API servers inside.
//
// It copies bytes and looks at none of them: TLS is between the two ends.
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

// dialTimeout bounds a connection attempt to an address of this same machine.
const dialTimeout = 5 * time.Second

// retry is the pause after a connection that could not be accepted.
const retry = 100 * time.Millisecond

// Serve accepts on the listener until ctx ends and connects each connection to
// the target, as long as the gate is open; a nil gate always is. It waits for
// the connections that it opened.
func Serve(ctx context.Context, listener net.Listener, target string, gate *Gate) error {
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
			// out of descriptors, most likely: that passes, and ending the
			// sandbox for it would help nobody
			klog.FromContext(ctx).Error(err, "Cannot accept a connection", "target", target)
			if !pause(ctx) {
				return nil
			}
			continue
		}
		open.Go(func() { carry(ctx, conn, target, gate) })
	}
}

// pause waits before another try; false when ctx ended first.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retry):
		return true
	}
}

// carry copies both ways until both sides are done, or ctx ends.
func carry(ctx context.Context, client net.Conn, target string, gate *Gate) {
	defer func() { _ = client.Close() }()
	if !gate.wait(ctx) {
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	server, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return // the client sees its connection closed, as with a server that is not there
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

// pipe copies one direction and passes the end of the stream on. A read that the
// gate has interrupted goes on where it was when the gate is open again.
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
