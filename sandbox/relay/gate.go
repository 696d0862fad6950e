package relay

import (
	"context"
	"net"
	"sync"
	"time"
)

// Gate interrupts relays like a network that loses every packet for a while. While it is shut,
// connections stay open and nothing passes, and a new connection is accepted and gets no answer.
// Data on its way passes when the gate opens. The nil Gate is always open.
type Gate struct {
	mu sync.Mutex
	// opened is closed when the gate is opened; nil while it is open.
	opened chan struct{}
	conns  map[net.Conn]struct{}
}

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{conns: map[net.Conn]struct{}{}} }

// Set opens or shuts the gate.
func (g *Gate) Set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open == (g.opened == nil) {
		return
	}
	if open {
		close(g.opened)
		g.opened = nil
		return
	}
	g.opened = make(chan struct{})
	for conn := range g.conns {
		interrupt(conn)
	}
}

// interrupt ends a waiting read and leaves the connection open.
func interrupt(conn net.Conn) { _ = conn.SetReadDeadline(time.Unix(1, 0)) }

// wait waits until the gate is open. It returns false if ctx ends first.
func (g *Gate) wait(ctx context.Context) bool {
	if g == nil {
		return ctx.Err() == nil
	}
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return ctx.Err() == nil
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return false
		}
	}
}

// resume waits until the gate is open and makes the connection readable again.
func (g *Gate) resume(ctx context.Context, conn net.Conn) bool {
	for g.wait(ctx) {
		g.mu.Lock()
		open := g.opened == nil
		if open {
			_ = conn.SetReadDeadline(time.Time{})
		}
		g.mu.Unlock()
		if open {
			return true
		}
	}
	return false
}

// add makes the gate interrupt a connection until remove is called.
func (g *Gate) add(conn net.Conn) (remove func()) {
	if g == nil {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[conn] = struct{}{}
	if g.opened != nil {
		interrupt(conn)
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.conns, conn)
	}
}
