package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// create creates the namespace and its interfaces.
func (n *Namespace) create(name string) error {
	file, err := newNamespace()
	if err != nil {
		n.bridge.release(n.ip)
		return err
	}
	n.file = file
	if err := n.connect(name); err != nil {
		return err
	}
	return n.Do(n.configure)
}

// newNamespace returns a new network namespace, which exists while the file is open.
func newNamespace() (*os.File, error) {
	var file *os.File
	err := inThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create a network namespace: %w", err)
		}
		if file, err = os.Open(threadNamespace); err != nil {
			return fmt.Errorf("open the new network namespace: %w", err)
		}
		return nil
	})
	return file, err
}

// connect creates the pair of interfaces: one end at the bridge, one in the namespace.
func (n *Namespace) connect(name string) error {
	if err := deleteLink(n.host); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = n.host
	attrs.MasterIndex = n.bridge.link.Attrs().Index
	pair := &netlink.Veth{
		LinkAttrs:        attrs,
		PeerName:         podInterface,
		PeerHardwareAddr: hardwareAddr(n.ip),
		PeerNamespace:    netlink.NsFd(int(n.file.Fd())),
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("create the pair of interfaces %s and %s: %w", n.host, podInterface, err)
	}
	link, err := netlink.LinkByName(n.host)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", n.host, err)
	}
	if err := netlink.LinkSetAlias(link, alias(name)); err != nil {
		return fmt.Errorf("set the alias of interface %s: %w", n.host, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("enable interface %s: %w", n.host, err)
	}
	return nil
}

// configure sets the address, the loopback and the routes. It runs inside the namespace.
func (n *Namespace) configure() error {
	if err := up("lo"); err != nil {
		return err
	}
	link, err := netlink.LinkByName(podInterface)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", podInterface, err)
	}
	own := netip.PrefixFrom(n.ip, n.bridge.gateway.Bits())
	if err := netlink.AddrReplace(link, address(own)); err != nil {
		return fmt.Errorf("set the address %s of interface %s: %w", own, podInterface, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("enable interface %s: %w", podInterface, err)
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Gw: n.bridge.Gateway().AsSlice()}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("set the default route via %s: %w", n.bridge.Gateway(), err)
	}
	for _, r := range n.bridge.owned() {
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(r.to), Gw: r.via.AsSlice()}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("set the route to %s via %s: %w", r.to, r.via, err)
		}
	}
	return nil
}

// deleteLink deletes an interface of the current namespace and so the other end of its
// pair. A missing interface is no error.
func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find interface %s: %w", name, err)
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete interface %s: %w", name, err)
	}
	return nil
}

// hostInterface returns the name of the end at the bridge. It is made of the pod's
// address, which is unique and, unlike a pod's name, fits into the kernel's 15 bytes.
func hostInterface(ip netip.Addr) string {
	return fmt.Sprintf("veth%x", ip.As4())
}

// alias truncates a name to the kernel's limit of an alias (IFALIASZ minus one).
func alias(name string) string {
	return name[:min(len(name), 255)]
}
