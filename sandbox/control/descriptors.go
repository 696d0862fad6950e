package control

import (
	"fmt"
	"syscall"
)

// The open files of a sandbox with a fleet. Its API server has a connection of OCM's agents and one of
// the add-on's agent of each cluster. For a cluster that can be cut off the supervisor has a listener
// and relays up to three connections, the third one while the cluster joins, with two sockets and two
// pipes each.
const (
	descriptorsForOthers  = 1000
	descriptorsPerCluster = 2
	descriptorsPerRelayed = 1 + 3*6
)

// CheckDescriptors returns an error if a fleet needs more open files in one process than its hard limit
// allows.
func CheckDescriptors(clusters, cuttable int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	return checkDescriptors(clusters, cuttable, limit.Max)
}

func checkDescriptors(clusters, cuttable int, limit uint64) error {
	if needed := descriptorsForOthers + descriptorsPerCluster*clusters; uint64(needed) > limit {
		return fmt.Errorf("%d clusters need %d open files in kube-apiserver, and the hard limit is %d (ulimit -Hn)",
			clusters, needed, limit)
	}
	if needed := descriptorsForOthers + descriptorsPerRelayed*cuttable; uint64(needed) > limit {
		return fmt.Errorf("%d clusters that can be cut off need %d open files in the supervisor, and the hard limit is %d (ulimit -Hn): give a smaller --fleet-cuttable",
			cuttable, needed, limit)
	}
	return nil
}

// RaiseDescriptors raises the soft limit of open files to the hard limit, for this process and those
// that it starts.
func RaiseDescriptors() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files: %w", err)
	}
	return nil
}
