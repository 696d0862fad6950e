package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/sandbox/relay"
)

// fleetAddress is the address of the fleet's APIs inside the sandbox.
const fleetAddress = "127.0.0.1:13000"

// joinedPeriod is the period with which the number of joined clusters is reported.
const joinedPeriod = 10 * time.Second

// Fleet configures a fleet of simulated clusters, which join the first hub.
type Fleet struct {
	// Clusters is the number of clusters, Cuttable that of those, the first ones, that can
	// be cut off from the hub.
	Clusters, Cuttable int
	// Agents is the user's program that runs the add-on's agents, with its arguments,
	// separated by spaces; empty: none.
	Agents string
	// ReadyAfter is the time after which a Deployment of a simulated cluster is available.
	ReadyAfter time.Duration
	// BrokenImage is a part of the images whose Deployments never become available.
	BrokenImage string
	// HubQPS is the rate of requests of each controller on the hub; 0 selects the defaults
	// of Kubernetes and OCM.
	HubQPS int
}

// load returns what a control plane has to bear.
func (s *supervisor) load(index int) controlplane.Load {
	if s.Fleet.Clusters == 0 || index > 0 {
		return controlplane.Load{}
	}
	return controlplane.Load{Clusters: s.Fleet.Clusters, QPS: s.Fleet.HubQPS}
}

// startFleet starts the fleet's programs and relays, and waits until all clusters have joined the first
// hub.
func (s *supervisor) startFleet(starting, running context.Context, group *errgroup.Group, hubsReady <-chan struct{}) error {
	if err := s.writeFleet(); err != nil {
		return err
	}
	if err := s.startFleetRelays(running, group); err != nil {
		return err
	}
	select {
	case <-hubsReady:
	case <-starting.Done():
		return context.Cause(starting)
	}
	for _, spec := range s.fleetPrograms() {
		group.Go(func() error { return process.Keep(running, spec, s.onLoop) })
	}
	var names []string
	for number := 1; number <= s.Fleet.Clusters; number++ {
		names = append(names, fleet.Name(number))
	}
	return ocm.WaitFleet(starting, s.hubs()[0].Admin, names, joinedPeriod, func(joined int) {
		s.Progress.Step("fleet: %d of %d clusters joined the hub and available", joined, len(names))
	})
}

// fleetPrograms returns the simulator and, if there is one, the user's program.
func (s *supervisor) fleetPrograms() []process.Spec {
	dir := control.FleetDir(s.Dir)
	file := filepath.Join(dir, control.FleetFile)
	spec := func(name, path string, args ...string) process.Spec {
		return process.Spec{
			Name: "fleet/" + name, Path: path, Args: args,
			Log: filepath.Join(dir, "logs", name+".log"), Switch: process.SwitchOf(dir, name),
		}
	}
	specs := []process.Spec{spec("agents", filepath.Join(s.Programs, build.FleetProgram), "--config="+file)}
	if words := strings.Fields(s.Fleet.Agents); len(words) > 0 {
		addon := spec("addon-agents", words[0], words[1:]...)
		addon.Env = []string{fleet.Environment + "=" + file}
		specs = append(specs, addon)
	}
	return specs
}

// writeFleet writes the files that describe the fleet.
func (s *supervisor) writeFleet() error {
	dir, hub := control.FleetDir(s.Dir), s.hubs()[0]
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of the fleet: %w", err)
	}
	bootstrap := filepath.Join(dir, "bootstrap.kubeconfig")
	user, err := hub.Authority.Client(ocm.BootstrapUser+"-fleet", ocm.BootstrapUser)
	if err != nil {
		return err
	}
	// it trusts the present authority alone, as the bootstrap kubeconfig of any cluster
	if err := pki.WriteKubeconfig(bootstrap, pki.Kubeconfig(hub.Name, hub.URL(), hub.Authority.PEM(), pki.User{Pair: user})); err != nil {
		return err
	}
	serving, err := hub.Authority.Serving("fleet", "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	token := rand.Text()
	members := filepath.Join(dir, control.MembersFile)
	outside := s.Outside[len(s.clusters)].Addr().String()
	return errors.Join(
		fleet.Write(members, control.FleetMembers(1, s.Fleet.Clusters, s.Fleet.Cuttable)),
		fleet.Write(filepath.Join(dir, control.OutsideFile), fleet.Outside{Address: outside, CA: hub.Authority.CertFile(), Token: token}),
		fleet.Write(filepath.Join(dir, control.FleetFile), fleet.File{
			Bootstrap: bootstrap, HubURL: hub.URL(), Address: fleetAddress,
			ServingCert: serving.CertFile, ServingKey: serving.KeyFile, CA: hub.Authority.CertFile(), Token: token, Members: members,
			AddonAuth: s.Agents.AddonAuth, TokenLife: metav1.Duration{Duration: s.Agents.AddonTokenLife},
			StatusSync: metav1.Duration{Duration: s.Agents.StatusSyncInterval},
			ReadyAfter: metav1.Duration{Duration: s.Fleet.ReadyAfter}, BrokenImage: s.Fleet.BrokenImage,
		}))
}

// startFleetRelays starts the relay from outside to the fleet's APIs, and one to the hub for each
// cluster that can be cut off.
func (s *supervisor) startFleetRelays(ctx context.Context, group *errgroup.Group) error {
	group.Go(func() error { return relay.Serve(ctx, s.Outside[len(s.clusters)], fleetAddress, nil) })
	hub := net.JoinHostPort(s.hubs()[0].Address, fmt.Sprint(controlplane.APIPort))
	gates := map[string]*relay.Gate{}
	for number := 1; number <= s.Fleet.Cuttable; number++ {
		listener, err := net.Listen("tcp", control.FleetRelay(number))
		if err != nil {
			return fmt.Errorf("open the link of %s to the hub: %w", fleet.Name(number), err)
		}
		gate := relay.NewGate()
		gates[fleet.Name(number)] = gate
		group.Go(func() error { return relay.Serve(ctx, listener, hub, gate) })
	}
	group.Go(func() error {
		watchGates(ctx, gates, filepath.Join(control.FleetDir(s.Dir), control.FleetCutFile))
		return nil
	})
	return nil
}

// watchGates shuts the gates whose names are in the file.
func watchGates(ctx context.Context, gates map[string]*relay.Gate, file string) {
	ticker := time.NewTicker(gatePeriod)
	defer ticker.Stop()
	var applied *string
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			content, err := os.ReadFile(file)
			names := string(content)
			if errors.Is(err, fs.ErrNotExist) || err == nil && applied != nil && *applied == names {
				continue
			}
			if err == nil {
				setGates(gates, names)
				err = fleet.Replace(control.CutDone(file), content)
			}
			if err != nil {
				klog.FromContext(ctx).Error(err, "Cannot change the links of the fleet", "file", file)
				continue
			}
			applied = &names
		}
	}
}

// setGates shuts the gates of the names, which are separated by white space, and opens the others.
func setGates(gates map[string]*relay.Gate, names string) {
	cut := map[string]bool{}
	for _, name := range strings.Fields(names) {
		cut[name] = true
	}
	for name, gate := range gates {
		gate.Set(!cut[name])
	}
}
