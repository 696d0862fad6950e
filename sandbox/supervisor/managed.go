package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/sandbox/relay"
)

// gatePeriod is the period with which the files that cut clusters off are read.
const gatePeriod = 100 * time.Millisecond

// startRelays starts the relays from every managed cluster to every hub.
func (s *supervisor) startRelays(ctx context.Context, group *errgroup.Group) error {
	for _, c := range s.managed() {
		for _, hub := range s.hubs() {
			for _, moved := range []bool{false, true} {
				gate := relay.NewGate()
				group.Go(func() error {
					watchGate(ctx, gate, control.CutFile(c.Dir, hub.Name, moved))
					return nil
				})
				listener, err := net.Listen("tcp", controlplane.Relay(c.Index, hub.Index, moved).String())
				if err != nil {
					return fmt.Errorf("open the link of %s to %s: %w", c.Name, hub.Name, err)
				}
				target := net.JoinHostPort(hub.Address, fmt.Sprint(controlplane.APIPort))
				group.Go(func() error { return relay.Serve(ctx, listener, target, gate) })
			}
		}
	}
	return nil
}

// watchGate shuts the gate while the file exists.
func watchGate(ctx context.Context, gate *relay.Gate, file string) {
	ticker := time.NewTicker(gatePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, err := os.Stat(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				klog.FromContext(ctx).Error(err, "Cannot read whether a cluster is to be cut off", "file", file)
				continue
			}
			gate.Set(err != nil)
			if err := tellCut(control.CutDone(file), err == nil); err != nil {
				klog.FromContext(ctx).Error(err, "Cannot acknowledge the state of a link", "file", file)
			}
		}
	}
}

// tellCut creates or removes the file that exists while nothing passes.
func tellCut(file string, cut bool) error {
	_, err := os.Stat(file)
	switch {
	case cut == (err == nil):
		return nil
	case cut:
		return os.WriteFile(file, nil, 0o600)
	default:
		return os.Remove(file)
	}
}

// installManaged installs OCM on a managed cluster and, in hosted mode, on its hosting cluster, for
// which it waits.
func (s *supervisor) installManaged(ctx context.Context, c *member) (*ocm.Managed, error) {
	host := s.host(c)
	if host != nil {
		if err := host.WaitReady(ctx); err != nil {
			return nil, err
		}
	}
	var hubs []*clientcmdapi.Config
	for _, hub := range s.hubs() {
		bootstrap, err := control.Bootstrap(s.Dir, control.BootstrapOptions{Cluster: c.Name, ClusterIndex: c.Index, Hub: hub.Name, HubIndex: hub.Index})
		if err != nil {
			return nil, err
		}
		hubs = append(hubs, bootstrap)
	}
	return ocm.InstallManaged(ctx, ocm.ManagedOptions{
		Cluster: c.Cluster, Host: host, Hubs: hubs, Manifests: filepath.Join(s.Programs, build.Manifests), Agents: s.Agents,
		FeatureGates: s.FeatureGates,
	})
}

// startSelf starts OCM's agents of a hub that manages itself, and waits until it has joined.
func (s *supervisor) startSelf(starting, running context.Context, group *errgroup.Group, hub *member) error {
	pair, err := hub.Authority.Client(ocm.BootstrapUser+"-"+s.HubAs, ocm.BootstrapUser)
	if err != nil {
		return err
	}
	managed, err := ocm.InstallManaged(starting, ocm.ManagedOptions{
		Cluster: hub.Cluster, Name: s.HubAs, Hubs: []*clientcmdapi.Config{hub.Kubeconfig(pki.User{Pair: pair})},
		Manifests: filepath.Join(s.Programs, build.Manifests), Agents: s.Agents, FeatureGates: s.FeatureGates,
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return managed.Run(running, s.onLoop) })
	if err := ocm.WaitAvailable(starting, hub.Admin, s.HubAs); err != nil {
		return err
	}
	s.Progress.Step("%s: manages itself as %s", hub.Name, s.HubAs)
	return nil
}
