package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/relay"
	"open-cluster-management.io/helloworld-addon/sandbox/services/plan"
)

// dialTimeout limits a connection attempt to an endpoint.
const dialTimeout = 5 * time.Second

// relays holds the open ports of a cluster's Services. It is for one goroutine.
type relays struct {
	Options
	open    map[plan.Port]*port
	running sync.WaitGroup
}

func newRelays(options Options) *relays {
	return &relays{Options: options, open: map[plan.Port]*port{}}
}

// port is an open port. Its methods are safe for concurrent use.
type port struct {
	now   func() time.Time
	close func() error

	mu       sync.Mutex
	backends plan.Backends
	balancer plan.Balancer
}

// pick returns the endpoint for a connection of the client.
func (p *port) pick(client netip.Addr) netip.AddrPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.balancer.Pick(p.backends, client, p.now())
}

// has reports whether the endpoint is among those of the port.
func (p *port) has(endpoint netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.backends.Endpoints, endpoint)
}

func (p *port) set(backends plan.Backends) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backends = backends
}

// apply opens and closes ports so that those of the plan are open, until ctx ends. TCP connections
// of a closed port stay open. The error joins those of all ports that cannot be opened.
func (r *relays) apply(ctx context.Context, want map[plan.Port]plan.Backends) error {
	var errs []error
	for at, p := range r.open {
		if _, wanted := want[at]; !wanted {
			delete(r.open, at)
			errs = append(errs, p.close())
		}
	}
	for at, backends := range want {
		if p := r.open[at]; p != nil {
			p.set(backends)
			continue
		}
		p := &port{now: r.Clock.Now, backends: backends}
		if err := r.listen(ctx, at, p); err != nil {
			errs = append(errs, fmt.Errorf("listen on %s %s: %w", at.Protocol, at.Address, err))
			continue
		}
		r.open[at] = p
	}
	return errors.Join(errs...)
}

// close waits for all connections, which end with the context of apply.
func (r *relays) close() {
	for _, p := range r.open {
		_ = p.close() // all that remains is to wait
	}
	r.running.Wait()
}

func (r *relays) listen(ctx context.Context, at plan.Port, p *port) error {
	if at.Protocol == corev1.ProtocolUDP {
		conn, err := listenUDP(r.Network, at.Address)
		if err != nil {
			return err
		}
		p.close = conn.Close
		u := &udpRelay{conn: conn, port: p, idle: r.UDPIdle, sessions: map[netip.AddrPort]*session{},
			dial: func(endpoint netip.AddrPort) (net.Conn, error) { return r.dial(ctx, "udp4", endpoint) }}
		r.running.Go(func() { u.serve(ctx) })
		return nil
	}
	listener, err := listenTCP(r.Network, at.Address)
	if err != nil {
		return err
	}
	p.close = listener.Close
	dial := func(ctx context.Context, client net.Conn) (net.Conn, error) { return r.dialTCP(ctx, p, client) }
	r.running.Go(func() { _ = relay.ServeDial(ctx, listener, dial, nil) }) // it returns nil
	return nil
}

// dialTCP connects a client of the port. If the endpoint refuses, the client's connection is reset.
func (r *relays) dialTCP(ctx context.Context, p *port, client net.Conn) (net.Conn, error) {
	from, err := netip.ParseAddrPort(client.RemoteAddr().String())
	if err != nil {
		return nil, fmt.Errorf("address of a client: %w", err)
	}
	server, err := r.dial(ctx, "tcp4", p.pick(from.Addr()))
	if tcp, ok := client.(*net.TCPConn); ok && err != nil {
		_ = tcp.SetLinger(0)
	}
	return server, err
}

// dial connects from within the namespace, so that the cluster's Services reach no more than its
// pods do.
func (r *relays) dial(ctx context.Context, network string, endpoint netip.AddrPort) (net.Conn, error) {
	var conn net.Conn
	err := r.Network.Do(func() (err error) {
		// A fallback to another address family would dial in another goroutine, outside the
		// namespace.
		dialer := net.Dialer{Timeout: dialTimeout, FallbackDelay: -1}
		conn, err = dialer.DialContext(ctx, network, endpoint.String())
		return err
	})
	return conn, err
}

// A socket stays in the namespace in which it was created.
func listenTCP(network Network, at netip.AddrPort) (listener *net.TCPListener, err error) {
	err = network.Do(func() error {
		listener, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
		return err
	})
	return listener, err
}

func listenUDP(network Network, at netip.AddrPort) (conn *net.UDPConn, err error) {
	err = network.Do(func() error {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	return conn, err
}
