package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// The defaults of Options. The back-off is kubelet's.
const (
	defaultBackOffInitial = 10 * time.Second
	defaultBackOffMax     = 5 * time.Minute
	defaultShutdownGrace  = 5 * time.Second
)

// Options configure a node.
type Options struct {
	// Name is the node's, and with the prefix system:node: its user's.
	Name string
	// Config reaches the API server as the node's user.
	Config *rest.Config
	// StateDir holds the pods' volumes; whatever is in it at the start is removed.
	StateDir string
	// LogDir holds the containers' logs as NAMESPACE_POD_UID/CONTAINER/RUN.log, in
	// the format of kubelet's.
	LogDir string

	Images  Images
	Runtime Runtime
	Network Network

	// Address is the node's InternalIP; Port is where logs and port-forward are
	// served on it.
	Address netip.Addr
	Port    int
	// CertFile and KeyFile are the server's certificate for Address, ClientCAFile
	// the authority of the API server's client certificate.
	CertFile, KeyFile, ClientCAFile string
	// APIServer is what pods are given as KUBERNETES_SERVICE_HOST and _PORT.
	APIServer netip.AddrPort

	// BackOff is how long a container that keeps ending waits for its next start;
	// the zero value is kubelet's: 10 s, doubling to 5 min.
	BackOff plan.BackOff
	// ShutdownGrace is how long processes have to end when the node stops; default 5 s.
	ShutdownGrace time.Duration
	// Clock is the real one by default.
	Clock clock.WithTicker
}

// Validate reports every option that is missing or wrong.
func (o Options) Validate() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	problems := validation.IsDNS1123Subdomain(o.Name)
	complain(len(problems) > 0, "node name %q is not a DNS subdomain: %v", o.Name, problems)
	complain(o.Config == nil, "no client configuration for node %q: give Config", o.Name)
	complain(o.Images == nil, "no images for node %q: give Images", o.Name)
	complain(o.Runtime == nil, "no runtime for node %q: give Runtime", o.Name)
	complain(o.Network == nil, "no pod network for node %q: give Network", o.Name)
	complain(!o.Address.IsValid(), "no address for node %q: give Address", o.Name)
	complain(o.Port < 1 || o.Port > 65535, "port %d is not one that can be served: give 1 to 65535", o.Port)
	complain(!o.APIServer.IsValid() || o.APIServer.Port() == 0, "API server address %q is not HOST:PORT", o.APIServer)
	for _, dir := range [][2]string{{"state", o.StateDir}, {"log", o.LogDir}} {
		complain(!filepath.IsAbs(dir[1]), "%s directory %q is not an absolute path", dir[0], dir[1])
	}
	for _, file := range [][2]string{{"certificate", o.CertFile}, {"key", o.KeyFile}, {"client CA", o.ClientCAFile}} {
		_, err := os.Stat(file[1])
		complain(err != nil, "%s file of node %q cannot be read: %w", file[0], o.Name, err)
	}
	complain(o.BackOff.Initial < 0 || o.BackOff.Max < o.BackOff.Initial,
		"back-off from %s to %s does not grow", o.BackOff.Initial, o.BackOff.Max)
	return errors.Join(errs...)
}

// withDefaults fills what may be left out.
func (o Options) withDefaults() Options {
	if o.BackOff == (plan.BackOff{}) {
		o.BackOff = plan.BackOff{Initial: defaultBackOffInitial, Max: defaultBackOffMax}
	}
	if o.ShutdownGrace == 0 {
		o.ShutdownGrace = defaultShutdownGrace
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Images says what directory stands for an image.
type Images interface {
	// Resolve finds an image by the name that a pod gives it.
	Resolve(name string) (plan.Image, bool)
	// Known lists the names, sorted, for the message about one that is not there.
	Known() []string
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
	Wait() plan.Exit
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
