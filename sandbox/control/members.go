package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
)

// detachTimeout limits the wait for the hub to forget clusters, fleetDetachTimeout is added for each.
const (
	detachTimeout      = 2 * time.Minute
	fleetDetachTimeout = time.Second
)

// Join adds clusters to the fleet, with numbers that no cluster of it had before, and waits until they have
// joined the hub and are available. It returns their names.
func (s *Sandbox) Join(ctx context.Context, n int) ([]string, error) {
	names, err := s.addMembers(n)
	if err != nil {
		return nil, err
	}
	hub, err := s.hubConfig()
	if err != nil {
		return nil, err
	}
	return names, ocm.WaitFleet(ctx, hub, names, time.Minute, func(int) {})
}

func (s *Sandbox) addMembers(n int) ([]string, error) {
	unlock, err := s.lockFleet()
	if err != nil {
		return nil, err
	}
	defer unlock()
	members, err := s.members()
	if err != nil {
		return nil, err
	}
	last, err := s.lastNumber(members)
	if err != nil {
		return nil, err
	}
	added, err := joining(last, len(members), n, s.record.Fleet.Cuttable)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range added {
		names = append(names, member.Name)
	}
	return names, fleet.Write(s.fleetFile(MembersFile), append(members, added...))
}

// lastNumber returns the highest number that a cluster of the fleet has or had. No number is used
// again, so that a new cluster is not taken for one that has left the fleet just before.
func (s *Sandbox) lastNumber(members []fleet.Member) (int, error) {
	last, err := fleet.Read[int](s.fleetFile(lastFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, member := range members {
		if number, ok := fleet.Number(member.Name); ok {
			last = max(last, number)
		}
	}
	return last, nil
}

// joining returns n clusters with numbers after the last one, for a fleet that has members.
func joining(last, members, n, cuttable int) ([]fleet.Member, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("join %d clusters: give at least 1", n)
	case last+n > fleet.MaxClusters:
		return nil, fmt.Errorf("join %d clusters: the last one was %s, and their numbers end with %d", n, fleet.Name(last), fleet.MaxClusters)
	}
	if err := CheckDescriptors(members+n, cuttable); err != nil {
		return nil, fmt.Errorf("join %d clusters: %w", n, err)
	}
	return FleetMembers(last+1, last+n, cuttable), nil
}

// Detach deletes the clusters on the hub, waits until OCM has removed everything of theirs, and ends
// their agents. When it fails, all clusters are still in the fleet, and it can be repeated.
func (s *Sandbox) Detach(ctx context.Context, names ...string) error {
	if err := s.checkMembers(names); err != nil {
		return err
	}
	client, err := s.hubClient()
	if err != nil {
		return err
	}
	for _, name := range names {
		err := client.ClusterV1().ManagedClusters().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the cluster %s on the hub: %w", name, err)
		}
	}
	if err := awaitForgotten(ctx, client, names); err != nil {
		return err
	}
	return s.removeMembers(ctx, names)
}

func (s *Sandbox) checkMembers(names []string) error {
	members, err := s.members()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(members, func(m fleet.Member) bool { return m.Name == name }) {
			return fmt.Errorf("no cluster %q in the fleet", name)
		}
	}
	return nil
}

// awaitForgotten waits until the hub has none of the clusters.
func awaitForgotten(ctx context.Context, client clusterclient.Interface, names []string) error {
	limit := detachTimeout + time.Duration(len(names))*fleetDetachTimeout
	left := slices.Clone(names)
	var last error
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		for len(left) > 0 {
			_, err := client.ClusterV1().ManagedClusters().Get(ctx, left[0], metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				last = err
				return false, nil
			}
			left = left[1:]
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait %s for the hub to remove the clusters: %w (%s is still there; one that is cut off must be mended first)",
			limit, errors.Join(err, last), left[0])
	}
	return nil
}

func (s *Sandbox) removeMembers(ctx context.Context, names []string) error {
	members, cut, unlock, err := s.openFleet()
	if err != nil {
		return err
	}
	defer unlock()
	last, err := s.lastNumber(members)
	if err != nil {
		return err
	}
	if err := fleet.Write(s.fleetFile(lastFile), last); err != nil {
		return err
	}
	maps.DeleteFunc(cut, func(name string, _ bool) bool { return slices.Contains(names, name) })
	members = slices.DeleteFunc(members, func(m fleet.Member) bool { return slices.Contains(names, m.Name) })
	if err := fleet.Write(s.fleetFile(MembersFile), members); err != nil {
		return err
	}
	return s.writeCut(ctx, cut)
}
