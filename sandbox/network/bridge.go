package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// forwarding is the kernel setting of the calling thread's network namespace.
const forwarding = "/proc/sys/net/ipv4/ip_forward"

// Bridge is the network of one node, to which its pods are attached. Its methods are
// safe for concurrent use.
type Bridge struct {
	link    netlink.Link
	gateway netip.Prefix

	mu     sync.Mutex
	pool   *pool
	routes []route
}

// route leads from the bridge's namespaces to a prefix that one of them owns.
type route struct {
	to  netip.Prefix
	via netip.Addr
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

// AttachOwner is like Attach, and the namespace owns every address of the prefix: programs
// in it can listen on each. Namespaces that are attached later have a route to the prefix.
// There is none in the current namespace, so bridges may have the same prefix.
func (b *Bridge) AttachOwner(name string, prefix netip.Prefix) (*Namespace, error) {
	ns, err := b.Attach(name)
	if err != nil {
		return nil, err
	}
	if err := ns.Do(func() error { return own(prefix) }); err != nil {
		return nil, errors.Join(err, ns.Close())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.routes = append(b.routes, route{to: prefix, via: ns.ip})
	return ns, nil
}

// owned returns the routes to the prefixes that namespaces own.
func (b *Bridge) owned() []route {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.routes)
}

// own makes a prefix local to the current namespace, as ip route add local PREFIX dev lo does.
func own(prefix netip.Prefix) error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find interface lo: %w", err)
	}
	local := &netlink.Route{LinkIndex: loopback.Attrs().Index, Dst: ipNet(prefix),
		Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST}
	if err := netlink.RouteReplace(local); err != nil {
		return fmt.Errorf("make the addresses %s local: %w", prefix, err)
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
	return &netlink.Addr{IPNet: ipNet(prefix)}
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}
}
