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

// forwarding is the switch of the calling thread's network namespace.
const forwarding = "/proc/sys/net/ipv4/ip_forward"

// Bridge is the network of one node: its pods are attached to it. Its methods
// may be called from several goroutines.
type Bridge struct {
	link    netlink.Link
	gateway netip.Prefix

	mu   sync.Mutex
	pool *pool
}

// NewBridge switches the loopback of the current network namespace on and makes
// the bridge with the gateway's address, such as 10.201.1.1/24: at that address
// the pods of the bridge reach what listens in the current namespace. What is
// there already is used as it is; an interface of that name and another kind is
// an error. The name is at most 15 bytes, by the kernel's rule.
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
	// Without an address of its own a bridge takes the lowest one of its
	// ports, and changes it, for which the pods' neighbour tables are too slow.
	attrs.HardwareAddr = hardwareAddr(gateway.Addr())
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("create bridge %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find bridge %s: %w", name, err)
	}
	if link.Type() != "bridge" {
		return nil, fmt.Errorf("create bridge %s: there is an interface of that name and of type %s", name, link.Type())
	}
	if err := netlink.AddrReplace(link, address(gateway)); err != nil {
		return nil, fmt.Errorf("give bridge %s the address %s: %w", name, gateway, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("switch bridge %s on: %w", name, err)
	}
	return &Bridge{link: link, gateway: gateway, pool: pool}, nil
}

// Gateway is the node's address on the bridge.
func (b *Bridge) Gateway() netip.Addr { return b.gateway.Addr() }

// EnableForwarding lets pods of one bridge reach those of another one in the
// current network namespace. They reach the gateway addresses without it.
func EnableForwarding() error {
	if err := os.WriteFile(forwarding, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("switch on forwarding between the clusters' networks (pods of different clusters will not reach each other): %w", err)
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

// up switches an interface of the current namespace on.
func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch interface %s on: %w", name, err)
	}
	return nil
}

// hardwareAddr is the address that belongs to an IPv4 address, by the habit of
// the CNI plug-ins: an address that is used again has the same one again, so no
// neighbour table is ever wrong.
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
