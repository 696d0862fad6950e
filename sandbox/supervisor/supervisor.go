// Package supervisor is the process that runs a sandbox: the first one of its
// own PID namespace, in its own mount and network namespaces. It starts the
// control planes, OCM on them and a node for each, and keeps them running.
//
// It ends nothing in order: when it ends, however that comes about, the kernel
// ends everything in its PID namespace.
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

// Options say what a supervisor runs.
type Options struct {
	// Dir is the sandbox's directory, Programs the one with the built programs.
	Dir, Programs string
	// Clusters are the names: the hubs' first, then the managed clusters'.
	Clusters []string
	// Hubs is how many of them are hubs, Hosted how many, the last ones, are
	// managed in hosted mode from the first managed one.
	Hubs, Hosted int
	// HubAs is the name by which the first hub manages itself; empty where it
	// does not.
	HubAs string
	// CertificateLife is how long the certificates live that hubs sign.
	CertificateLife time.Duration
	// Agents are the settings of OCM's agents on every managed cluster.
	Agents ocm.Agents
	// Outside are the listeners on 127.0.0.1, opened before the network namespace
	// was left, in the order of Clusters.
	Outside []net.Listener
	// Progress is told what has been done.
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
	bridge *network.Bridge
}

func (s *supervisor) hubs() []*member { return s.clusters[:s.Hubs] }

func (s *supervisor) managed() []*member { return s.clusters[s.Hubs:] }

// host is the hosting cluster of a managed cluster, nil in default mode.
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

// start brings everything up; what keeps running is added to the group.
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
	if err := starting.Wait(); err != nil {
		return err
	}
	s.ready.Store(true)
	s.Progress.Ready()
	return nil
}

// create makes the clusters' networks and certificates.
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
		cluster, err := controlplane.New(controlplane.Options{
			Name: name, Dir: filepath.Join(s.Dir, name), Programs: s.Programs, Index: i,
			Address: gateway.Addr().String(), OutsidePort: s.Outside[i].Addr().(*net.TCPAddr).Port,
			Relays: relays, CertificateLife: s.CertificateLife,
		})
		if err != nil {
			return err
		}
		s.clusters = append(s.clusters, &member{Cluster: cluster, bridge: bridge})
	}
	return s.writeKubeconfigs()
}

// startHub brings up a hub; starting bounds the start, running what is started.
func (s *supervisor) startHub(starting, running context.Context, group *errgroup.Group, hub *member) error {
	if err := hub.WaitReady(starting); err != nil {
		return err
	}
	s.Progress.Step("%s: control plane ready", hub.Name)
	if err := s.startNode(starting, running, group, hub); err != nil {
		return err
	}
	webhook, err := hub.bridge.Attach(hub.Name + "/addon-webhook")
	if err != nil {
		return err
	}
	installed, err := ocm.InstallHub(starting, hub.Cluster, filepath.Join(s.Programs, build.Manifests), webhook)
	if err != nil {
		return err
	}
	group.Go(func() error { return installed.Run(running, s.onLoop) })
	s.Progress.Step("%s: OCM installed", hub.Name)
	if s.HubAs == "" || hub.Index > 0 {
		return nil
	}
	return s.startSelf(starting, running, group, hub)
}

// startManaged brings up a managed cluster and waits until it has joined the
// first hub.
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

// onLoop ends a start on the first program that keeps dying. Once the sandbox
// is up, a program that keeps dying is what somebody may be trying out: it is
// logged and goes on being started.
func (s *supervisor) onLoop(err *process.LoopError) {
	if !s.ready.Load() {
		s.fail(err)
		return
	}
	klog.ErrorS(err.Cause, "A program keeps dying", "program", err.Name, "log", err.Log, "tail", err.Tail)
}

// Isolate finishes what the clone flags began: mounts made from here on are
// seen by nobody outside, and /proc shows the sandbox's own processes.
func Isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the sandbox's mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		// Inside a container the kernel may refuse this to a user namespace. The
		// outer /proc does as well: nothing here looks processes up by number.
		klog.InfoS("Keeping the outer /proc", "reason", err.Error())
	}
	return nil
}

// writeKubeconfigs writes the administrators' kubeconfigs for people and tests:
// one for each cluster, one for each as the programs of pods reach it, and one
// with all as contexts.
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
