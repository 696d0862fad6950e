package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Report says what a sandbox is made of: where its kubeconfigs are, and the
// memory that each cluster takes.
func Report(options Options) error {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return fmt.Errorf("--dir=%s: %w", options.Dir, err)
	}
	options.Dir = dir
	record, err := statedir.Read(options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no sandbox in %s: make sandbox-up starts one", dir)
	}
	if err != nil {
		return err
	}
	if started, alive := statedir.ProcessStart(record.PID); !alive || started != record.StartTime {
		return fmt.Errorf("the sandbox in %s has ended by itself: %s says why; make sandbox-up starts another, make sandbox-down removes it",
			dir, filepath.Join(dir, "sandbox.log"))
	}
	for _, name := range record.Clusters {
		// every program of the control plane and of OCM is given paths in the
		// cluster's directory; what pods run is not
		processes := statedir.Processes(filepath.Join(options.Dir, name) + "/")
		rss, private := memory(processes)
		options.say("%-9s %4d MiB in %d programs (sum of RSS; %d MiB of it private)  KUBECONFIG=%s.kubeconfig",
			name, rss>>20, len(processes), private>>20, filepath.Join(options.Dir, name))
	}
	if rss, private := statedir.ProcessMemory(record.PID); rss > 0 {
		options.say("%-9s %4d MiB in the supervisor, which is every cluster's node (%d MiB of it private)", "sandbox", rss>>20, private>>20)
	}
	options.say("all clusters as contexts: export KUBECONFIG=%s", filepath.Join(options.Dir, "kubeconfig"))
	return nil
}

// memory is the resident memory of the processes, and the private part of it.
func memory(processes []statedir.Process) (rss, private int64) {
	for _, p := range processes {
		rss, private = rss+p.RSS, private+p.Private
	}
	return rss, private
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
