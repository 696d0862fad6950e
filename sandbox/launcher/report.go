package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Report prints the kubeconfig, the memory, the cuts and the stopped programs of each cluster of a sandbox, and counts
// those of a fleet.
func Report(ctx context.Context, options Options) error {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return fmt.Errorf("--dir=%s: %w", options.Dir, err)
	}
	options.Dir = dir
	record, err := statedir.Read(options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no sandbox in %s: start one with ocm-sandbox up", dir)
	}
	if err != nil {
		return err
	}
	if !record.Running() {
		return fmt.Errorf("the sandbox in %s has ended by itself: see %s for the cause; ocm-sandbox up starts a new one, ocm-sandbox down removes it",
			dir, filepath.Join(dir, "sandbox.log"))
	}
	sandbox, err := control.Open(dir)
	if err != nil {
		return err
	}
	for _, name := range record.Clusters {
		// the arguments of control plane and OCM programs, but not of pods, contain
		// the cluster's directory
		processes := statedir.Processes(filepath.Join(options.Dir, name) + "/")
		rss, private := memory(processes)
		options.say("%-9s %4d MiB in %d programs (sum of RSS; %d MiB of it private)  KUBECONFIG=%s.kubeconfig",
			name, rss>>20, len(processes), private>>20, filepath.Join(options.Dir, name))
		cuts, err := sandbox.Cuts(name)
		if err != nil {
			return err
		}
		if err := reportSituation(&options, cuts, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if record.Fleet != nil {
		if err := reportFleet(ctx, &options, sandbox, record.Fleet); err != nil {
			return err
		}
	}
	if rss, private := statedir.ProcessMemory(record.PID); rss > 0 {
		options.say("%-9s %4d MiB in the supervisor, which is every cluster's node (%d MiB of it private)", "sandbox", rss>>20, private>>20)
	}
	options.say("all clusters as contexts: export KUBECONFIG=%s", filepath.Join(options.Dir, "kubeconfig"))
	return nil
}

// reportSituation prints a line about the cuts and the stopped programs of a cluster or fleet in dir, if there are any.
func reportSituation(options *Options, cuts []control.Cut, dir string) error {
	stopped, err := control.Stopped(dir)
	if err != nil {
		return err
	}
	if text := situationOf(cuts, stopped); text != "" {
		options.say("%-9s %s", "", text)
	}
	return nil
}

// situationOf describes a cluster's cuts and stopped programs, for example
// "cut off from hub; stopped: registration-agent". It is empty without any.
func situationOf(cuts []control.Cut, stopped []string) string {
	var parts []string
	for _, cut := range cuts {
		switch {
		case cut.FirstURL && cut.OtherURL:
			parts = append(parts, "cut off from "+cut.Hub)
		case cut.FirstURL:
			parts = append(parts, fmt.Sprintf("cut off from %s's first URL", cut.Hub))
		case cut.OtherURL:
			parts = append(parts, fmt.Sprintf("cut off from %s's other URL", cut.Hub))
		}
	}
	if len(stopped) > 0 {
		parts = append(parts, "stopped: "+strings.Join(stopped, ", "))
	}
	return strings.Join(parts, "; ")
}

// reportTimeout limits the question to the hub about its clusters.
const reportTimeout = 20 * time.Second

// reportFleet prints a summary of the fleet.
func reportFleet(ctx context.Context, options *Options, sandbox *control.Sandbox, record *statedir.Fleet) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	state, err := sandbox.FleetState(ctx)
	summary := fmt.Sprintf("%d clusters: %d joined, %d available, %d cut off", state.Clusters, state.Joined, state.Available, state.Cut)
	if err != nil {
		summary = fmt.Sprintf("(%v)", err) // for example a stopped API server
	}
	dir := control.FleetDir(options.Dir)
	rss, private := memory(statedir.Processes(dir + "/"))
	options.say("%-9s %4d MiB in OCM's agents and the clusters' APIs (%d MiB of it private)  https://127.0.0.1:%d", "fleet", rss>>20, private>>20, record.Port)
	if addon := statedir.ProcessesWith(fleet.Environment + "=" + filepath.Join(dir, control.FleetFile)); len(addon) > 0 {
		rss, private := memory(addon)
		options.say("%-9s %4d MiB in the add-on's agents (%d MiB of it private)", "", rss>>20, private>>20)
	}
	options.say("%-9s %s", "", summary)
	return reportSituation(options, nil, dir)
}

// memory returns the resident memory of the processes, and the private part of it.
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
