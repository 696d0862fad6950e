package node

import (
	"context"
	"io"
	"net"
	"net/netip"
	"syscall"
)

// Images says what directory stands for an image.
type Images interface {
	// Resolve finds an image by the name that a pod gives it.
	Resolve(name string) (Image, bool)
	// Known lists the names, sorted, for the message about one that is not there.
	Known() []string
}

// Image is an image's root file system and the defaults of its configuration.
type Image struct {
	// Dir is laid out like the image's root.
	Dir string
	// UID and GID are whom its processes run as when the pod does not say.
	UID, GID int64
	// Entrypoint and Command are used as Kubernetes uses an image's.
	Entrypoint, Command []string
}

// Runtime starts containers.
type Runtime interface {
	// Start runs a container in the pod's network. An error says why the process
	// is not running; the process's own end is told by [Process].
	Start(ctx context.Context, spec Container, network PodNetwork, stdout, stderr io.Writer) (Process, error)
}

// Process is a running container.
type Process interface {
	Signal(signal syscall.Signal) error
	// Wait returns when the process has ended and its output is written.
	Wait() Exit
}

// Exit is how a process ended: by itself with a code, or by a signal.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Network makes the networks of pods.
type Network interface {
	Attach(name string) (PodNetwork, error)
}

// PodNetwork is the network that the containers of one pod share.
type PodNetwork interface {
	IP() netip.Addr
	// Dial connects to a port of the pod's own loopback interface.
	Dial(ctx context.Context, port uint16) (net.Conn, error)
	Close() error
}

// Container is what a Runtime has to run.
type Container struct {
	ID, Hostname string
	// Image is the directory with the root file system, Root an empty one that
	// the container's root is mounted on.
	Image, Root  string
	Args         []string
	Env          []string
	Dir          string
	ReadOnlyRoot bool
	UID, GID     int64
	Groups       []int64
	Mounts       []Mount
	Hosts        []Host
}

// Host is a line of the container's /etc/hosts beside the usual ones.
type Host struct {
	IP    string
	Names []string
}

// Mount is a file or directory that the container sees at Target.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}
