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

// Options configures a node.
type Options struct {
	// Name is the node's name; its user is system:node:NAME.
	Name string
	// Config reaches the API server as the node's user.
	Config *rest.Config
	// StateDir holds the pods' volumes. Run empties it at the start.
	StateDir string
	// LogDir holds the containers' logs as NAMESPACE_POD_UID/CONTAINER/RUN.log, in
	// kubelet's format.
	LogDir string

	// HostPaths are the absolute paths of the directories of the machine that pods may mount
	// by hostPath, with all below them. VolumeDir is one whose directories they may mount by
	// claims alone; empty for none.
	HostPaths []string
	VolumeDir string

	Images  Images
	Runtime Runtime
	Network Network

	// Address is the node's InternalIP. The node serves logs, exec, attach and
	// port-forward on its Port.
	Address netip.Addr
	Port    int
	// CertFile and KeyFile hold the server's certificate for Address, ClientCAFile
	// the CA of the API server's client certificate.
	CertFile, KeyFile, ClientCAFile string
	// APIServer is the address that pods get as KUBERNETES_SERVICE_HOST and _PORT.
	APIServer netip.AddrPort
	// ClusterDNS is the DNS server of pods with the policy ClusterFirst; zero means none.
	// ClusterDomain is the cluster's domain, usually cluster.local.
	ClusterDNS    netip.Addr
	ClusterDomain string

	// BackOff delays the restarts of a container that keeps ending. The zero value
	// selects kubelet's: 10 s, doubling to 5 min.
	BackOff plan.BackOff
	// ShutdownGrace is the time between SIGTERM and SIGKILL when the node stops;
	// 5 s by default.
	ShutdownGrace time.Duration
	// Clock is the real clock by default.
	Clock clock.WithTicker
}

// Validate returns an error that joins every missing or invalid option.
func (o Options) Validate() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	complain(o.ClusterDNS.IsValid() && o.ClusterDomain == "", "no domain of the DNS server %s: give ClusterDomain", o.ClusterDNS)
	problems := validation.IsDNS1123Subdomain(o.Name)
	complain(len(problems) > 0, "node name %q is not a DNS subdomain: %v", o.Name, problems)
	complain(o.Config == nil, "no client configuration for node %q: give Config", o.Name)
	complain(o.Images == nil, "no images for node %q: give Images", o.Name)
	complain(o.Runtime == nil, "no runtime for node %q: give Runtime", o.Name)
	complain(o.Network == nil, "no pod network for node %q: give Network", o.Name)
	complain(!o.Address.IsValid(), "no address for node %q: give Address", o.Name)
	complain(o.Port < 1 || o.Port > 65535, "port %d is out of range: give 1 to 65535", o.Port)
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

// withDefaults returns the options with the defaults filled in.
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

// Images maps image names to directories.
type Images interface {
	// Use returns the image of a name in a pod, and whether it is mapped. If it is, its
	// files stay until the caller calls release. With an error there is no image.
	Use(name string) (image plan.Image, release func(), ok bool, err error)
	// Known returns all mapped names, sorted, and the one that an unknown name most likely means, empty if there is
	// none. Both are for the message about the unknown one.
	Known(name string) (all []string, similar string)
}

// Runtime starts containers.
type Runtime interface {
	// Start starts a container in the pod's network. The error is about the start
	// alone; [Process] reports how a started process ends.
	Start(ctx context.Context, spec Container, network PodNetwork, stdout, stderr io.Writer) (Process, error)
	// Measure returns the usage of each container, zero for one that has ended.
	Measure(containers []Process) ([]plan.Usage, error)
}

// Process is a running container.
type Process interface {
	Signal(signal syscall.Signal) error
	// Wait returns when the process has ended and its output is written.
	Wait() plan.Exit
	// Stdin returns the program's input, nil if it has none.
	Stdin() io.WriteCloser
	// Resize sets the size of the program's terminal in characters, if it has one.
	Resize(width, height uint16) error
	// Exec starts a further program in the container. It and its process group are
	// killed when ctx ends. The error is a *ProgramError if the program cannot be run,
	// and os.ErrProcessDone if the container has ended.
	Exec(ctx context.Context, e Exec) (Execution, error)
}

// Exec is a further program for a running container. A nil writer discards.
type Exec struct {
	Args []string
	// Stdin gives the program an input, TTY a terminal whose output goes to Stdout.
	Stdin, TTY     bool
	Stdout, Stderr io.Writer
}

// Execution is a further program in a container.
type Execution interface {
	// Stdin returns the program's input, nil if it has none.
	Stdin() io.WriteCloser
	// Resize sets the size of the terminal in characters.
	Resize(width, height uint16) error
	// Wait returns when the program has ended and its output is written.
	Wait() plan.Exit
}

// ProgramError is the error of a further program that cannot be run.
type ProgramError struct {
	// Code is the exit code of a shell: 127 if the program does not exist, else 126.
	Code int
	Err  error
}

func (e *ProgramError) Error() string { return e.Err.Error() }
func (e *ProgramError) Unwrap() error { return e.Err }

// Network creates the networks of pods.
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

// Container is the configuration of a container for a Runtime.
type Container struct {
	ID, Hostname string
	// Image is the directory with the root file system, Root an empty directory
	// on which the container's root is mounted.
	Image, Root  string
	Args         []string
	Env          []string
	Dir          string
	ReadOnlyRoot bool
	// Beside is a running container of the pod whose processes the program shares, nil
	// for none.
	Beside Process
	// Capabilities are those that the program keeps if it runs as user 0.
	Capabilities []string
	// Stdin gives the program an input, see Process; TTY a terminal whose output is stdout.
	Stdin, TTY bool
	UID, GID   int64
	Groups     []int64
	Mounts     []Mount
	Hosts      []Host
	// HostNames are the names of the pod's own address in /etc/hosts, by default Hostname.
	HostNames []string
	// ResolvConf is the content of /etc/resolv.conf; if it is empty, no name is resolved.
	ResolvConf string
}

// Host is an additional line of the container's /etc/hosts.
type Host struct {
	IP    string
	Names []string
}

// Mount is a file or directory that the container sees at Target.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}
