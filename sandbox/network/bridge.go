package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
)

// forwarding is the kernel setting of the calling thread's network namespace.
const forwarding = "/proc/sys/net/ipv4/ip_forward"

// Bridge is the network of one node, to which its pods are attached. Its methods are
// safe for concurrent use.
type Bridge struct {
	link    netlink.Link
	gateway netip.Prefix

	mu   sync.Mutex
	pool *pool
}

// NewBridge returns a bridge with the gateway's address, for example 10.201.1.1/24, in
// the current network namespace, whose loopback it enables. At that address the pods of
// the bridge reach servers in the current namespace. An existing bridge of that name is
// used as it is; an interface of another type is an error. The kernel limits the name to
// 15 bytes.
func NewBridge(name string, gateway netip.Prefix) (*Bridge, error) {
	pool, err := newPool(gateway)
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", name, err)
	}
	if err := up("lo"); err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	// By default a bridge has the lowest hardware address of its ports, which
	// changes with them. The pods' neighbour tables would be stale then.
	attrs.HardwareAddr = hardwareAddr(gateway.Addr())
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("create bridge %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find bridge %s: %w", name, err)
	}
	if link.Type() != "bridge" {
		return nil, fmt.Errorf("create bridge %s: an interface of that name has the type %s", name, link.Type())
	}
	if err := netlink.AddrReplace(link, address(gateway)); err != nil {
		return nil, fmt.Errorf("set the address %s of bridge %s: %w", gateway, name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("enable bridge %s: %w", name, err)
	}
	return &Bridge{link: link, gateway: gateway, pool: pool}, nil
}

// Gateway returns the node's address on the bridge.
func (b *Bridge) Gateway() netip.Addr { return b.gateway.Addr() }

// EnableForwarding lets the pods of different bridges in the current network namespace
// reach each other. They reach the gateway addresses without it.
func EnableForwarding() error {
	if err := os.WriteFile(forwarding, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("enable forwarding between the clusters' networks (pods of different clusters will not reach each other): %w", err)
	}
	return nil
}

func (b *Bridge) take() (netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pool.take()
}

func (b *Bridge) release(addr netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.release(addr)
}

// up enables an interface of the current namespace.
func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("enable interface %s: %w", name, err)
	}
	return nil
}

// hardwareAddr returns the hardware address for an IPv4 address, as CNI plugins compute
// it. A reused IP address has the same hardware address, so no neighbour table is stale.
func hardwareAddr(addr netip.Addr) net.HardwareAddr {
	octets := addr.As4()
	return append(net.HardwareAddr{0x0a, 0x58}, octets[:]...)
}

func address(prefix netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{
		IP:   prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(prefix.Bits(), 32),
	}}
}
