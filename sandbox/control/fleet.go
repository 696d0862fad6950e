package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// The files in FleetDir.
const (
	FleetFile   = "fleet.json"
	MembersFile = "members.json"
	OutsideFile = "outside.json"
	// FleetCutFile has the names of the clusters to cut off, one per line. CutDone of it has
	// the same content when the supervisor has done so.
	FleetCutFile = "cut"
	// lastFile has the highest number of the clusters that have left the fleet.
	lastFile = "last"
)

// firstFleetPort precedes the ports of the hub's address that are relayed to it for one cluster each.
const firstFleetPort = 20000

var errNoFleet = errors.New("this sandbox has no fleet: start one with up --fleet=N")

// FleetDir returns the directory of the fleet of the sandbox in dir.
func FleetDir(dir string) string { return filepath.Join(dir, "fleet") }

// FleetRelay returns the address at which a cluster of the fleet that can be cut off reaches the hub.
func FleetRelay(number int) string {
	return net.JoinHostPort(controlplane.Address(0).String(), strconv.Itoa(firstFleetPort+number))
}

// FleetMembers returns the clusters with the numbers from first to last, of which those up to cuttable
// can be cut off.
func FleetMembers(first, last, cuttable int) []fleet.Member {
	var members []fleet.Member
	for number := first; number <= last; number++ {
		member := fleet.Member{Name: fleet.Name(number)}
		if number <= cuttable {
			member.HubURL = "https://" + FleetRelay(number)
		}
		members = append(members, member)
	}
	return members
}

// FleetState counts the clusters of a fleet.
type FleetState struct{ Clusters, Joined, Available, Cut int }

// FleetState returns the state of the fleet as the hub knows it.
func (s *Sandbox) FleetState(ctx context.Context) (FleetState, error) {
	members, err := s.members()
	if err != nil {
		return FleetState{}, err
	}
	client, err := s.hubClient()
	if err != nil {
		return FleetState{}, err
	}
	// any version is good enough, and the API server has one in memory
	known, err := client.ClusterV1().ManagedClusters().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return FleetState{}, fmt.Errorf("list the clusters of the hub: %w", err)
	}
	cut, err := s.cutNames()
	if err != nil {
		return FleetState{}, err
	}
	return stateOf(members, known.Items, cut), nil
}

func stateOf(members []fleet.Member, known []clusterv1.ManagedCluster, cut map[string]bool) FleetState {
	state := FleetState{Clusters: len(members)}
	conditions := map[string][]metav1.Condition{}
	for _, cluster := range known {
		conditions[cluster.Name] = cluster.Status.Conditions
	}
	for _, member := range members {
		if meta.IsStatusConditionTrue(conditions[member.Name], clusterv1.ManagedClusterConditionJoined) {
			state.Joined++
		}
		if meta.IsStatusConditionTrue(conditions[member.Name], clusterv1.ManagedClusterConditionAvailable) {
			state.Available++
		}
		if cut[member.Name] {
			state.Cut++
		}
	}
	return state
}

// CutShare cuts a share of the fleet, a number from 0 to 1, off from the hub, or connects it again. It
// returns the clusters' names: always the first ones among those that can be cut off.
func (s *Sandbox) CutShare(ctx context.Context, share float64, up bool) ([]string, error) {
	members, err := s.members()
	if err != nil {
		return nil, err
	}
	names, err := shareOf(members, share)
	if err != nil {
		return nil, err
	}
	return names, s.setFleetLinks(ctx, names, up)
}

func shareOf(members []fleet.Member, share float64) ([]string, error) {
	if share <= 0 || share > 1 {
		return nil, fmt.Errorf("a share of %g of the fleet: give one of more than 0%% and at most 100%%", share)
	}
	var names []string
	for _, member := range members {
		if member.HubURL != "" {
			names = append(names, member.Name)
		}
	}
	// without the rounding 0.07 of 100 would be 8
	n := int(math.Ceil(math.Round(share*float64(len(members))*1e6) / 1e6))
	if n > len(names) {
		return nil, fmt.Errorf("this share is %d clusters of the fleet, of which %d can be cut off: start it with up --fleet-cuttable=%d", n, len(names), n)
	}
	return names[:n], nil
}

// setFleetLinks changes the links of the clusters to the hub and waits until that has happened.
func (s *Sandbox) setFleetLinks(ctx context.Context, names []string, up bool) error {
	members, cut, unlock, err := s.openFleet()
	if err != nil {
		return err
	}
	defer unlock()
	for _, name := range names {
		i := slices.IndexFunc(members, func(m fleet.Member) bool { return m.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("no cluster %q in the fleet", name)
		case members[i].HubURL == "":
			return fmt.Errorf("%s cannot be cut off: the fleet was started with --fleet-cuttable=%d", name, s.record.Fleet.Cuttable)
		case up:
			delete(cut, name)
		default:
			cut[name] = true
		}
	}
	return s.writeCut(ctx, cut)
}

// writeCut replaces the names of the clusters to cut off and waits for the supervisor.
func (s *Sandbox) writeCut(ctx context.Context, cut map[string]bool) error {
	content := ""
	for _, name := range slices.Sorted(maps.Keys(cut)) {
		content += name + "\n"
	}
	file := s.fleetFile(FleetCutFile)
	if err := fleet.Replace(file, []byte(content)); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, cutTimeout, true, func(context.Context) (bool, error) {
		done, err := os.ReadFile(CutDone(file))
		return err == nil && string(done) == content, nil
	})
	if err != nil {
		return fmt.Errorf("wait %s for the sandbox's supervisor to change the links of the fleet: %w", cutTimeout, err)
	}
	return nil
}

// cutNames returns the clusters that are to be cut off.
func (s *Sandbox) cutNames() (map[string]bool, error) {
	names := map[string]bool{}
	content, err := os.ReadFile(s.fleetFile(FleetCutFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the links of the fleet: %w", err)
	}
	for _, name := range strings.Fields(string(content)) {
		names[name] = true
	}
	return names, nil
}

// FleetKubeconfig returns a kubeconfig of a fleet's cluster, for programs outside the sandbox.
func (s *Sandbox) FleetKubeconfig(name string) (*clientcmdapi.Config, error) {
	if err := s.checkMembers([]string{name}); err != nil {
		return nil, err
	}
	outside, err := fleet.Read[fleet.Outside](s.fleetFile(OutsideFile))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(outside.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the fleet: %w", err)
	}
	return pki.Kubeconfig(name, "https://"+outside.Address+"/clusters/"+name, ca, pki.User{Token: outside.Token}), nil
}

func (s *Sandbox) fleetFile(name string) string { return filepath.Join(FleetDir(s.dir), name) }

// members returns the clusters of the fleet.
func (s *Sandbox) members() ([]fleet.Member, error) {
	if s.record.Fleet == nil {
		return nil, errNoFleet
	}
	return fleet.Read[[]fleet.Member](s.fleetFile(MembersFile))
}

// lockFleet keeps other commands from changing the fleet until unlock is called.
func (s *Sandbox) lockFleet() (unlock func(), err error) {
	if s.record.Fleet == nil {
		return nil, errNoFleet
	}
	file, err := os.OpenFile(s.fleetFile("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the fleet: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the fleet: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// openFleet returns the clusters of the fleet, and those of them that are to be cut off. Other commands
// cannot change them until unlock is called.
func (s *Sandbox) openFleet() (members []fleet.Member, cut map[string]bool, unlock func(), err error) {
	if unlock, err = s.lockFleet(); err != nil {
		return nil, nil, nil, err
	}
	members, err = s.members()
	if err == nil {
		cut, err = s.cutNames()
	}
	if err != nil {
		unlock()
		return nil, nil, nil, err
	}
	return members, cut, unlock, nil
}

func (s *Sandbox) hubConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, s.record.Clusters[0]+".kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	config.QPS, config.Burst, config.Timeout = 100, 200, 0
	return config, nil
}

func (s *Sandbox) hubClient() (clusterclient.Interface, error) {
	config, err := s.hubConfig()
	if err != nil {
		return nil, err
	}
	client, err := clusterclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	return client, nil
}
