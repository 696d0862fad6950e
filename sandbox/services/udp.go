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

// maxSessions limits the sessions of a port, each of which has a socket and a buffer.
const maxSessions = 256

// firstIdle is the time after which a client may get another endpoint that has sent one datagram, as
// the kernel's nf_conntrack_udp_timeout:
// https://docs.kernel.org/networking/nf_conntrack-sysctl.html
const firstIdle = 30 * time.Second

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

// session is a client's connection to an endpoint. The relay's lock protects limit and used.
type session struct {
	net.Conn
	endpoint netip.AddrPort
	// limit is the time without traffic after which it ends, used that of the last traffic.
	limit time.Duration
	used  time.Time
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

// current returns the session of a client that has sent another datagram, nil if it needs a new one.
func (u *udpRelay) current(client netip.AddrPort) *session {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.sessions[client]
	if s != nil && !u.port.has(s.endpoint) {
		_ = s.Close()
		return nil
	}
	if s != nil {
		s.limit = u.idle
	}
	return s
}

// start connects a client to an endpoint, nil if it cannot. If the port has too many sessions, it ends
// the one that was idle for the longest time.
func (u *udpRelay) start(client netip.AddrPort) *session {
	endpoint := u.port.pick(client.Addr())
	conn, err := u.dial(endpoint)
	if err != nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.sessions) >= maxSessions {
		u.endIdlest()
	}
	s := &session{Conn: conn, endpoint: endpoint, limit: min(firstIdle, u.idle), used: time.Now()}
	u.sessions[client] = s
	return s
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
func (u *udpRelay) keep(s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s.used = time.Now()
	_ = s.SetReadDeadline(s.used.Add(s.limit))
}

// endIdlest ends the session with the oldest traffic. The caller holds the lock.
func (u *udpRelay) endIdlest() {
	var idlest netip.AddrPort
	for client, s := range u.sessions {
		if !idlest.IsValid() || s.used.Before(u.sessions[idlest].used) {
			idlest = client
		}
	}
	_ = u.sessions[idlest].Close()
	delete(u.sessions, idlest)
}

func (u *udpRelay) endAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.sessions {
		_ = s.Close()
	}
}
