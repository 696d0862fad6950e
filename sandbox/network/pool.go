package network

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrExhausted means that every address of a bridge's prefix is in use.
var ErrExhausted = errors.New("no free address")

// pool allocates the addresses of a prefix in turn, so a released address is reused last.
// A client that still dials a dead pod gets no answer instead of another pod's.
type pool struct {
	prefix netip.Prefix
	// reserved is the node's own address.
	reserved netip.Addr
	used     map[netip.Addr]bool
	last     netip.Addr
}

// newPool returns the pool of a gateway address with its prefix length, for example
// 10.201.1.1/24. The prefix must have at least one more address.
func newPool(gateway netip.Prefix) (*pool, error) {
	prefix := gateway.Masked()
	switch {
	case !gateway.IsValid() || !gateway.Addr().Is4():
		return nil, fmt.Errorf("gateway %q is not an IPv4 address with a prefix length, such as 10.201.1.1/24", gateway)
	case gateway.Bits() > 30:
		return nil, fmt.Errorf("gateway %s leaves no address for a pod: use a prefix length of at most 30", gateway)
	case gateway.Addr() == prefix.Addr() || gateway.Addr() == broadcast(prefix):
		return nil, fmt.Errorf("gateway %s is the network or broadcast address of %s: choose another address", gateway.Addr(), prefix)
	}
	return &pool{prefix: prefix, reserved: gateway.Addr(), used: map[netip.Addr]bool{}, last: prefix.Addr()}, nil
}

// take returns the next free address, or ErrExhausted.
func (p *pool) take() (netip.Addr, error) {
	for addr := p.next(p.last); ; addr = p.next(addr) {
		if p.free(addr) {
			p.used[addr], p.last = true, addr
			return addr, nil
		}
		if addr == p.last {
			return netip.Addr{}, fmt.Errorf("%w in %s: %d in use", ErrExhausted, p.prefix, len(p.used))
		}
	}
}

// release frees an address. It ignores a free one.
func (p *pool) release(addr netip.Addr) {
	delete(p.used, addr)
}

// next returns the address after addr; after the last one, the prefix's first.
func (p *pool) next(addr netip.Addr) netip.Addr {
	if next := addr.Next(); p.prefix.Contains(next) {
		return next
	}
	return p.prefix.Addr()
}

func (p *pool) free(addr netip.Addr) bool {
	return addr != p.prefix.Addr() && addr != broadcast(p.prefix) && addr != p.reserved && !p.used[addr]
}

// broadcast returns the last address of an IPv4 prefix.
func broadcast(prefix netip.Prefix) netip.Addr {
	octets := prefix.Masked().Addr().As4()
	for bit := prefix.Bits(); bit < 32; bit++ {
		octets[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(octets)
}
