package services

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// maxDatagram is the largest payload of UDP.
const maxDatagram = 64 << 10

// udpRelay relays the datagrams of a port. A client, that is an address and port, stays with an
// endpoint while it has traffic and the endpoint is one of the port's.
type udpRelay struct {
	conn *net.UDPConn
	port *port
	idle time.Duration
	dial func(netip.AddrPort) (net.Conn, error)

	mu       sync.Mutex
	sessions map[netip.AddrPort]*session
}

// session is a client's connection to an endpoint.
type session struct {
	net.Conn
	endpoint netip.AddrPort
}

// serve relays until the port is closed or ctx ends, and returns after all sessions have ended.
func (u *udpRelay) serve(ctx context.Context) {
	var replies sync.WaitGroup
	defer replies.Wait()
	defer u.endAll()
	stop := context.AfterFunc(ctx, func() { _ = u.conn.Close() })
	defer stop()
	datagram := make([]byte, maxDatagram)
	for {
		n, client, err := u.conn.ReadFromUDPAddrPort(datagram)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "Cannot read a datagram", "address", u.conn.LocalAddr())
			continue
		}
		s := u.current(client)
		if s == nil {
			if s = u.start(client); s == nil {
				continue // lost, as datagrams may be
			}
			replies.Go(func() { u.reply(s, client) })
		}
		u.keep(s)
		_, _ = s.Write(datagram[:n])
	}
}

// current returns the client's session, nil if it needs a new one.
func (u *udpRelay) current(client netip.AddrPort) *session {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.sessions[client]
	if s != nil && !u.port.has(s.endpoint) {
		_ = s.Close()
		return nil
	}
	return s
}

func (u *udpRelay) start(client netip.AddrPort) *session {
	endpoint := u.port.pick(client.Addr())
	conn, err := u.dial(endpoint)
	if err != nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sessions[client] = &session{conn, endpoint}
	return u.sessions[client]
}

// reply passes the endpoint's datagrams to the client until the session is idle or closed, or the
// endpoint refuses.
func (u *udpRelay) reply(s *session, client netip.AddrPort) {
	defer func() {
		_ = s.Close()
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.sessions[client] == s {
			delete(u.sessions, client)
		}
	}()
	datagram := make([]byte, maxDatagram)
	for {
		n, err := s.Read(datagram)
		if err != nil {
			return
		}
		u.keep(s)
		_, _ = u.conn.WriteToUDPAddrPort(datagram[:n], client)
	}
}

// keep postpones the end of a session.
func (u *udpRelay) keep(s *session) { _ = s.SetReadDeadline(time.Now().Add(u.idle)) }

func (u *udpRelay) endAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.sessions {
		_ = s.Close()
	}
}
