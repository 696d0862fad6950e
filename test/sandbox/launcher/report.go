package launcher

import (
	"fmt"
	"path/filepath"

	"open-cluster-management.io/helloworld-addon/test/sandbox/statedir"
)

// Report says what a sandbox is made of: where its kubeconfigs are, and the
// memory that each cluster takes.
func Report(options Options) error {
	record, err := statedir.Read(options.Dir)
	if err != nil {
		return err
	}
	for _, name := range record.Clusters {
		// every program of a cluster is given paths in the cluster's directory
		processes := statedir.Processes(filepath.Join(options.Dir, name) + "/")
		processes = append(processes, statedir.Processes(filepath.Join(options.Dir, name)+".")...)
		options.say("%-10s %4d MiB in %d programs (sum of RSS)  KUBECONFIG=%s.kubeconfig",
			name, mib(processes), len(processes), filepath.Join(options.Dir, name))
	}
	if rss, _ := statedir.ProcessRSS(record.PID); rss > 0 {
		options.say("%-10s %4d MiB in the supervisor, which is every cluster's node", "sandbox", rss>>20)
	}
	options.say("all clusters as contexts: export KUBECONFIG=%s", filepath.Join(options.Dir, "kubeconfig"))
	return nil
}

func mib(processes []statedir.Process) int64 {
	var sum int64
	for _, p := range processes {
		sum += p.RSS
	}
	return sum >> 20
}

// Down ends the sandbox and removes its files.
func Down(options Options) error {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return fmt.Errorf("--dir=%s: %w", options.Dir, err)
	}
	removed, err := statedir.Remove(dir)
	if err != nil {
		return err
	}
	if !removed {
		options.say("no sandbox in %s", dir)
		return nil
	}
	options.say("the sandbox in %s is gone", dir)
	return nil
}
