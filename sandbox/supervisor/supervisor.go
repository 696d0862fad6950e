// Package supervisor runs a sandbox, as the first process of a PID namespace and in mount and network
// namespaces of its own. It starts the control planes, OCM on them and a node for each, and restarts
// programs that end.
//
// It has no orderly shutdown: when it ends, for whatever cause, the kernel ends all processes in its
// PID namespace.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/network"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/sandbox/relay"
)

// Options configures a supervisor.
type Options struct {
	// Dir is the sandbox's directory, Programs the one with the built programs.
	Dir, Programs string
	// Clusters are the clusters' names, those of hubs first.
	Clusters []string
	// Hubs is the number of hubs. Hosted is the number of managed clusters, the last
	// ones, in hosted mode; the first managed cluster hosts them.
	Hubs, Hosted int
	// HubAs is the name under which the first hub manages itself; if empty, it does not.
	HubAs string
	// CertificateLife is the life of the certificates that hubs sign.
	CertificateLife time.Duration
	// Audit makes the hubs' API servers log every request.
	Audit bool
	// Agents are the settings of OCM's agents on every managed cluster.
	Agents ocm.Agents
	// FeatureGates are those of OCM's programs on the clusters that are not of the fleet.
	FeatureGates ocm.FeatureGates
	// HostPaths are the directories that pods may mount by hostPath.
	HostPaths []string
	// Fleet are the simulated clusters.
	Fleet Fleet
	// Outside are the listeners on 127.0.0.1, opened before the network namespace
	// was left, in the order of Clusters, and one for a fleet.
	Outside []net.Listener
	// Progress receives the completed steps.
	Progress *Progress
}

// supervisor is the state of a run.
type supervisor struct {
	Options
	clusters []*member
	ready    atomic.Bool
	fail     context.CancelCauseFunc
}

// member is one cluster of the sandbox.
type member struct {
	*controlplane.Cluster
	bridge   *network.Bridge
	services *network.Namespace
}

func (s *supervisor) hubs() []*member { return s.clusters[:s.Hubs] }

func (s *supervisor) managed() []*member { return s.clusters[s.Hubs:] }

// host returns the hosting cluster of a managed cluster, nil in default mode.
func (s *supervisor) host(c *member) *controlplane.Cluster {
	if c.Index < len(s.clusters)-s.Hosted {
		return nil
	}
	return s.managed()[0].Cluster
}

// Run starts the sandbox and runs it until ctx ends.
func Run(ctx context.Context, options Options) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &supervisor{Options: options, fail: fail}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.start(ctx, group) })
	err := group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// start starts everything. It adds the long-running goroutines to the group.
func (s *supervisor) start(ctx context.Context, group *errgroup.Group) error {
	if err := s.create(); err != nil {
		return err
	}
	for i, c := range s.clusters {
		group.Go(func() error { return c.Run(ctx, s.onLoop) })
		group.Go(func() error {
			return relay.Serve(ctx, s.Outside[i], net.JoinHostPort(c.Address, fmt.Sprint(controlplane.APIPort)), nil)
		})
	}
	if err := s.startRelays(ctx, group); err != nil {
		return err
	}
	starting, startCtx := errgroup.WithContext(ctx)
	hubsStart, hubsCtx := errgroup.WithContext(startCtx)
	hubsReady := make(chan struct{})
	for _, hub := range s.hubs() {
		hubsStart.Go(func() error { return s.startHub(hubsCtx, ctx, group, hub) })
	}
	starting.Go(func() error {
		defer close(hubsReady)
		return hubsStart.Wait()
	})
	for _, c := range s.managed() {
		starting.Go(func() error { return s.startManaged(startCtx, ctx, group, c, hubsReady) })
	}
	if s.Fleet.Clusters > 0 {
		starting.Go(func() error { return s.startFleet(startCtx, ctx, group, hubsReady) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	s.ready.Store(true)
	s.Progress.Ready()
	return nil
}

// create creates the clusters' networks and certificates.
func (s *supervisor) create() error {
	var relays []string
	for i := s.Hubs; i < len(s.Options.Clusters); i++ {
		relays = append(relays, controlplane.Address(i).String())
	}
	for i, name := range s.Options.Clusters {
		gateway := netip.PrefixFrom(controlplane.Address(i), 24)
		bridge, err := network.NewBridge(fmt.Sprintf("sandbox%d", i), gateway)
		if err != nil {
			return fmt.Errorf("create the network of %s: %w", name, err)
		}
		// before any pod, because only later namespaces have the route to it
		services, err := bridge.AttachOwner(name+"/services", controlplane.ServiceNetwork)
		if err != nil {
			return fmt.Errorf("create the service network of %s: %w", name, err)
		}
		cluster, err := controlplane.New(controlplane.Options{
			Name: name, Dir: filepath.Join(s.Dir, name), Programs: s.Programs, Index: i,
			Address: gateway.Addr().String(), OutsidePort: s.Outside[i].Addr().(*net.TCPAddr).Port,
			Relays: relays, CertificateLife: s.CertificateLife, Audit: s.Audit && i < s.Hubs, Load: s.load(i),
		})
		if err != nil {
			return err
		}
		s.clusters = append(s.clusters, &member{Cluster: cluster, bridge: bridge, services: services})
	}
	return s.writeKubeconfigs()
}

// startHub starts a hub. starting limits the start, running the started programs.
func (s *supervisor) startHub(starting, running context.Context, group *errgroup.Group, hub *member) error {
	if err := hub.WaitReady(starting); err != nil {
		return err
	}
	s.Progress.Step("%s: control plane ready", hub.Name)
	if err := s.startNode(starting, running, group, hub); err != nil {
		return err
	}
	installed, err := ocm.InstallHub(starting, ocm.HubOptions{
		Cluster: hub.Cluster, Manifests: filepath.Join(s.Programs, build.Manifests), FeatureGates: s.FeatureGates,
		Attach: func(name string) (ocm.Network, error) { return hub.bridge.Attach(hub.Name + "/" + name) },
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return installed.Run(running, s.onLoop) })
	if err := installed.EnableWebhooks(starting); err != nil {
		return err
	}
	if err := installed.WaitCreatable(starting); err != nil {
		return err
	}
	s.Progress.Step("%s: OCM installed", hub.Name)
	if s.HubAs == "" || hub.Index > 0 {
		return nil
	}
	return s.startSelf(starting, running, group, hub)
}

// startManaged starts a managed cluster and waits until it has joined the first hub.
func (s *supervisor) startManaged(starting, running context.Context, group *errgroup.Group, c *member, hubsReady <-chan struct{}) error {
	if err := c.WaitReady(starting); err != nil {
		return err
	}
	s.Progress.Step("%s: control plane ready", c.Name)
	if err := s.startNode(starting, running, group, c); err != nil {
		return err
	}
	managed, err := s.installManaged(starting, c)
	if err != nil {
		return err
	}
	select {
	case <-hubsReady:
	case <-starting.Done():
		return context.Cause(starting)
	}
	group.Go(func() error { return managed.Run(running, s.onLoop) })
	if err := ocm.WaitAvailable(starting, s.hubs()[0].Admin, c.Name); err != nil {
		return err
	}
	s.Progress.Step("%s: joined the hub and available", c.Name)
	return nil
}

// onLoop ends the start of the sandbox because of a crash-looping program. In a sandbox that is up it
// only logs it, because the user may have provoked it; the program is still restarted.
func (s *supervisor) onLoop(err *process.LoopError) {
	if !s.ready.Load() {
		s.fail(err)
		return
	}
	klog.ErrorS(err.Cause, "Program is crash-looping", "program", err.Name, "log", err.Log, "tail", err.Tail)
}

// Isolate completes the isolation by the clone flags: it hides later mounts from outside the sandbox,
// and makes /proc show the sandbox's own processes.
func Isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the sandbox's mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		// Inside a container the kernel may forbid this in a user namespace. The outer
		// /proc is good enough: nothing here looks up processes by id.
		klog.InfoS("Keeping the outer /proc", "reason", err.Error())
	}
	return nil
}

// writeKubeconfigs writes the administrators' kubeconfigs for users and tests: for each cluster one for
// use outside and one for programs in pods, and one with all clusters as contexts.
func (s *supervisor) writeKubeconfigs() error {
	var all []*clientcmdapi.Config
	for _, c := range s.clusters {
		config := c.OutsideKubeconfig()
		if err := pki.WriteKubeconfig(filepath.Join(s.Dir, c.Name+".kubeconfig"), config); err != nil {
			return err
		}
		if err := pki.WriteKubeconfig(filepath.Join(s.Dir, c.Name+".inside.kubeconfig"), c.InsideKubeconfig()); err != nil {
			return err
		}
		all = append(all, config)
	}
	return pki.WriteKubeconfig(filepath.Join(s.Dir, "kubeconfig"), pki.Merge(all...))
}
