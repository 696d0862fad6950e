// Package bench runs the fleet benchmark: it starts fleets in sandboxes of their own, runs the
// steps on them, and records the figures.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/steps"
)

// all are the steps in their order. Enable has to come before those after it.
var all = []string{record.Join, record.Enable, record.Idle, record.Change, record.Restart, record.Rollout, record.Rotate, record.Turnover, record.Distribute}

// Options configure a run.
type Options struct {
	// Clusters is the size of the fleet.
	Clusters int
	// Steps are the names of those to run.
	Steps []string
	// Sandbox is ocm-sandbox with the flags that it always gets.
	Sandbox []string
	// UpFlags are further flags of its command up.
	UpFlags []string
	// Agents is the program of the add-on's agents.
	Agents string
	// Controller is the add-on's controller, ReplicaSets that of ConfigMapReplicaSets, Deploy the directory with their
	// manifests.
	Controller, ReplicaSets, Deploy string
	// Rival is the controller of addon-framework's example, RivalManifests the directory with its
	// manifests. Without it the rival is not measured.
	Rival, RivalManifests string
	// Module is the directory of the go.mod that names OCM's version, and Root that of the
	// repository's. Version is that of the add-on.
	Module, Root, Version string
	// EnableOn is the number of clusters on which step 2 enables the add-on; 0 means all.
	EnableOn int
	// Lease is the period in whole seconds of the clusters' leases from when they join; 0 leaves OCM's, a minute.
	Lease time.Duration
	Times steps.Times
	// Try, if it is set, is called with a fleet of its own, on which the controller is not installed
	// yet. up is the time in which the fleet has started.
	Try func(ctx context.Context, f *steps.Fleet, up time.Duration) error
	// JSON is the file for the figures.
	JSON string
	// Command is the command line, for the record.
	Command string
	// Keep leaves the logs when a step failed.
	Keep bool
	Out  io.Writer
}

// Full are the times of a whole run. To join a cluster, or to enable the add-on on it, takes the hub and OCM's agents up
// to a second on two cores, so the limit grows with the fleet.
func Full(clusters int) steps.Times {
	return steps.Times{Settle: 5 * time.Minute, Idle: 10 * time.Minute, Cut: 5 * time.Minute, Deadline: time.Minute,
		CertificateLife: 30 * time.Minute, Limit: 5*time.Minute + time.Duration(clusters)*1500*time.Millisecond}
}

// Quick are the times of a run that shows whether everything works, and about how fast.
func Quick(clusters int) steps.Times {
	times := Full(clusters)
	times.Settle, times.Idle, times.Cut, times.Deadline = 30*time.Second, 2*time.Minute, time.Minute, 30*time.Second
	return times
}

// Smoke are the shortest times in which each step shows that it works.
func Smoke(clusters int) steps.Times {
	times := Quick(clusters)
	times.Settle, times.Idle, times.Cut, times.Deadline = 20*time.Second, time.Minute, 30*time.Second, 20*time.Second
	// OCM renews when less than a quarter of a certificate's life is left, and Kubernetes backdates
	// it by five minutes: from 1m45s of 4m on. OCM looks every five minutes, or when it is touched.
	times.CertificateLife, times.Touch, times.Limit = 4*time.Minute, 2*time.Minute+20*time.Second, 4*time.Minute
	return times
}

// Validate returns an error that names every wrong option.
func (o *Options) Validate() error {
	var problems []error
	if o.Clusters < 1 {
		problems = append(problems, fmt.Errorf("--clusters=%d: a fleet has at least 1", o.Clusters))
	}
	if len(o.Steps) == 0 && o.Try == nil {
		o.Steps = all
	}
	for _, step := range o.Steps {
		if !slices.Contains(all, step) {
			problems = append(problems, fmt.Errorf("--steps=%s: the steps are %s", step, strings.Join(all, ",")))
		}
	}
	if o.has(record.Idle, record.Change, record.Restart, record.Rollout, record.Turnover) && !o.has(record.Enable) {
		problems = append(problems, fmt.Errorf("--steps=%s: the steps after %s need it", strings.Join(o.Steps, ","), record.Enable))
	}
	return errors.Join(append(problems, o.validatePart()...)...)
}

// has reports whether one of the steps is to be run.
func (o *Options) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(o.Steps, name) })
}

// validatePart checks the options for a fleet that nearly fills the machine. The steps are known.
func (o *Options) validatePart() []error {
	var problems []error
	if o.EnableOn < 0 || o.EnableOn > o.Clusters {
		problems = append(problems, fmt.Errorf("--enable-on=%d: give 1 to %d, the number of the clusters (0: all)", o.EnableOn, o.Clusters))
	}
	onlyEnable := !slices.ContainsFunc(o.Steps, func(step string) bool { return step != record.Join && step != record.Enable })
	if o.EnableOn > 0 && (!onlyEnable || !o.has(record.Enable)) {
		problems = append(problems, fmt.Errorf("--enable-on=%d: it needs --steps=%s,%s, or %[3]s alone", o.EnableOn, record.Join, record.Enable))
	}
	if o.Lease < 0 || o.Lease%time.Second != 0 {
		problems = append(problems, fmt.Errorf("--lease=%s: give whole seconds", o.Lease))
	}
	return problems
}

// settings returns the options that are recorded.
func (o *Options) settings() map[string]string {
	settings := map[string]string{"settle": o.Times.Settle.String(), "idle": o.Times.Idle.String(), "cut": o.Times.Cut.String(),
		"certificateLife": o.Times.CertificateLife.String(), "steps": strings.Join(o.Steps, ","), "upFlags": strings.Join(o.UpFlags, " "),
		"clusters": strconv.Itoa(o.Clusters)}
	if o.EnableOn > 0 {
		settings["enableOn"] = strconv.Itoa(o.EnableOn)
	}
	if o.Lease > 0 {
		settings["lease"] = o.Lease.String()
	}
	return settings
}
