package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// threadNamespace is the calling thread's network namespace. A path with the
	// process id would be wrong in a PID namespace whose /proc is still its
	// parent's: there the id names another process.
	threadNamespace = "/proc/thread-self/ns/net"
	podInterface    = "eth0"
)

// Namespace is a pod's network namespace. It exists until Close is called and no process
// runs in it. Its methods are safe for concurrent use.
type Namespace struct {
	bridge *Bridge
	ip     netip.Addr
	host   string

	mu   sync.RWMutex
	file *os.File // nil once closed
}

// Attach returns a new network namespace with a free address of the bridge's prefix: it
// has eth0 with that address, a default route via the bridge, and a loopback. `ip link`
// shows the name as the alias of the interface at the bridge. The error is ErrExhausted
// if no address is free.
func (b *Bridge) Attach(name string) (*Namespace, error) {
	ip, err := b.take()
	if err != nil {
		return nil, fmt.Errorf("attach %s to the network: %w", name, err)
	}
	ns := &Namespace{bridge: b, ip: ip, host: hostInterface(ip)}
	if err := ns.create(name); err != nil {
		return nil, errors.Join(fmt.Errorf("attach %s to the network: %w", name, err), ns.Close())
	}
	return ns, nil
}

// IP returns the pod's address.
func (n *Namespace) IP() netip.Addr { return n.ip }

// Close detaches the namespace from the bridge and releases its address. Programs that
// still run in it keep only the loopback. A second Close does nothing.
func (n *Namespace) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil
	}
	// The address stays in use if its interface cannot be deleted.
	if err := deleteLink(n.host); err != nil {
		return err
	}
	n.bridge.release(n.ip)
	err := n.file.Close()
	n.file = nil
	if err != nil {
		return fmt.Errorf("close the network namespace of %s: %w", n.ip, err)
	}
	return nil
}

// Do runs f on a thread inside the namespace. Processes that f starts run inside it,
// goroutines that f starts do not.
func (n *Namespace) Do(f func() error) error {
	return inThread(func() error {
		if err := n.enter(); err != nil {
			return fmt.Errorf("enter the network namespace of %s: %w", n.ip, err)
		}
		return f()
	})
}

// enter moves the calling thread into the namespace.
func (n *Namespace) enter() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.file == nil {
		return os.ErrClosed
	}
	return unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET)
}

// Dial connects to a TCP port of the pod's own loopback, as port forwarding needs it.
func (n *Namespace) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	var conn net.Conn
	err := n.Do(func() (err error) {
		// A fallback to another address family would dial in another goroutine,
		// outside the namespace.
		dialer := net.Dialer{FallbackDelay: -1}
		conn, err = dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
		return err
	})
	return conn, err
}

// inThread runs f on a thread of its own, which f may move to another network namespace.
// If the thread cannot return to its namespace it is never reused: a goroutine that ends
// without UnlockOSThread terminates its thread.
func inThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(threadNamespace)
		if err != nil {
			result <- fmt.Errorf("open the current network namespace: %w", err)
			return
		}
		defer home.Close()
		err = f()
		if restored := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); restored == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}
