package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/test/fleet/origin"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/steps"
)

const (
	// agentImage is one that the program of the agents knows as its own.
	agentImage = "quay.io/open-cluster-management/helloworld-addon:fleet"
	// brokenImage never becomes available on the fleet.
	brokenImage = "registry.example.com/helloworld-addon"

	downTimeout = 5 * time.Minute
)

// Run runs the benchmark, writes its JSON, and returns an error when a step failed or missed an aim.
func Run(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	r, err := origin.Record(origin.Options{Clusters: options.Clusters, Module: options.Module, Root: options.Root, Version: options.Version,
		Command: options.Command, Settings: options.settings()})
	if err != nil {
		return err
	}
	b := &bench{Options: options, record: r}
	if err := errors.Join(b.run(ctx), origin.Save(b.record, b.JSON)); err != nil {
		return err
	}
	fmt.Fprintln(b.Out, "the figures are in", b.JSON)
	missed, ofThisMachine := r.Missed()
	for _, line := range ofThisMachine {
		fmt.Fprintln(b.Out, "on this machine an aim was missed:", line)
	}
	if len(missed) > 0 {
		return fmt.Errorf("%d aims or steps were missed:\n%s", len(missed), strings.Join(missed, "\n"))
	}
	return nil
}

type bench struct {
	Options
	record *record.Record
	work   string
}

// part is a fleet with what is done on it.
type part struct {
	name    string
	subject steps.Subject
	// flags are further ones of ocm-sandbox up.
	flags []string
	// floorUntil is the file that ends the floor; empty without a floor.
	floorUntil string
	run        func(ctx context.Context, f *steps.Fleet, up time.Duration) error
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.work, err = os.MkdirTemp("", "fleet-"); err != nil {
		return fmt.Errorf("make a directory for the benchmark: %w", err)
	}
	defer func() {
		if b.Keep && (err != nil || len(b.record.Failures) > 0) {
			fmt.Fprintln(b.Out, "the logs are in", b.work)
			return
		}
		err = errors.Join(err, os.RemoveAll(b.work))
	}()
	for _, p := range b.parts() {
		if err := b.runPart(ctx, p); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.record.Fail(p.name, err)
		}
	}
	return nil
}

// floor reports whether the step that needs the floor is run. Otherwise its watches and its memory would only be in the figures.
func (b *bench) floor() bool { return b.has(record.Change) }

func (b *bench) parts() []part {
	ours := steps.Ours(b.Controller, b.Deploy, agentImage)
	program := "--fleet-agents=" + b.Agents + " --image=" + agentImage
	broken := "--fleet-broken-image=" + brokenImage
	var parts []part
	if b.has(record.Join, record.Enable, record.Distribute) {
		p := part{name: "fleet", subject: ours, flags: []string{program, broken}, run: b.main}
		if b.floor() {
			p.floorUntil = filepath.Join(b.work, "floor-ended")
			p.flags[0] += " --floor-until=" + p.floorUntil
		}
		parts = append(parts, p)
	}
	if b.Try != nil {
		parts = append(parts, part{name: "try", subject: ours, flags: []string{program, broken}, run: b.Try})
	}
	if b.has(record.Rotate) {
		flags := []string{program, broken, "--certificate-life=" + b.Times.CertificateLife.String()}
		parts = append(parts, part{name: record.Rotate, subject: ours, flags: flags, run: b.rotate})
	}
	if b.Rival != "" && b.has(record.Enable) {
		parts = append(parts, part{name: record.Rival, subject: steps.Rival(b.Rival, b.RivalManifests), run: b.rival})
	}
	return parts
}

// main runs the steps of the add-on but the rotation, each whether or not the one before failed.
func (b *bench) main(ctx context.Context, f *steps.Fleet, up time.Duration) error {
	if b.has(record.Join) {
		b.step(ctx, f, record.Join, func(ctx context.Context, f *steps.Fleet) error { return steps.Join(ctx, f, up) })
	}
	if !b.has(record.Enable, record.Distribute) {
		return nil
	}
	if err := steps.Deploy(ctx, f); err != nil {
		return err
	}
	if !b.has(record.Enable) {
		if err := steps.EnableOnly(ctx, f); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name string
		run  func(context.Context, *steps.Fleet) error
	}{
		{record.Enable, steps.Enable}, {record.Idle, steps.Idle}, {record.Change, steps.Change}, {record.Restart, steps.Restart},
		{record.Rollout, steps.Rollout}, {record.Turnover, steps.Turnover},
		{record.Distribute, steps.Distribute},
	} {
		if b.has(s.name) {
			b.step(ctx, f, s.name, s.run)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// rotate enables the add-on on a fleet with short-lived certificates. What enabling takes there is not
// recorded.
func (b *bench) rotate(ctx context.Context, f *steps.Fleet, _ time.Duration) error {
	if err := steps.Deploy(ctx, f); err != nil {
		return err
	}
	if err := steps.EnableOnly(ctx, f); err != nil {
		return err
	}
	b.step(ctx, f, record.Rotate, steps.Rotate)
	return context.Cause(ctx)
}

// rival measures what of the rival is the hub's: no agents of it run.
func (b *bench) rival(ctx context.Context, f *steps.Fleet, _ time.Duration) error {
	if err := steps.Deploy(ctx, f); err != nil {
		return err
	}
	if err := steps.Enable(ctx, f); err != nil {
		fmt.Fprintf(b.Out, "the rival did not come to its end: %v\n", err)
		b.record.Note(record.Enable, err)
		return context.Cause(ctx)
	}
	if b.has(record.Idle) {
		b.step(ctx, f, record.Idle, steps.Idle)
	}
	return context.Cause(ctx)
}

func (b *bench) step(ctx context.Context, f *steps.Fleet, name string, run func(context.Context, *steps.Fleet) error) {
	if ctx.Err() != nil {
		return
	}
	if err := run(ctx, f); err != nil {
		fmt.Fprintf(b.Out, "step %s failed: %v\n", name, err)
		b.record.Fail(name, err)
	}
	// A run takes hours: what is measured stays when it is killed.
	if err := origin.Save(b.record, b.JSON); err != nil {
		fmt.Fprintln(b.Out, err)
	}
}

// runPart starts a fleet, uses it and ends it.
func (b *bench) runPart(ctx context.Context, p part) (err error) {
	work := filepath.Join(b.work, p.name)
	dir := filepath.Join(work, "sandbox")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("make a directory for the sandbox: %w", err)
	}
	fmt.Fprintf(b.Out, "%s: %d clusters join\n", p.name, b.Clusters)
	args := append([]string{"--dir=" + dir, "up", fmt.Sprintf("--fleet=%d", b.Clusters)}, append(p.flags, b.UpFlags...)...)
	begin := time.Now()
	defer func() {
		if err != nil || len(b.record.Failures) > 0 {
			b.keepLogs(dir, work)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
		defer cancel()
		err = errors.Join(err, b.sandbox(ctx, "--dir="+dir, "down"))
	}()
	if b.Lease > 0 {
		keepCtx, end := context.WithCancel(ctx)
		var keeper sync.WaitGroup
		keeper.Go(func() { steps.KeepLeases(keepCtx, dir, b.Lease, b.Out) })
		defer keeper.Wait()
		defer end()
	}
	upCtx, cancel := context.WithTimeout(ctx, b.Times.Limit)
	defer cancel()
	if err := b.sandbox(upCtx, args...); err != nil {
		return fmt.Errorf("start the fleet: %w", err)
	}
	up := time.Since(begin)
	sandbox, err := control.Open(dir)
	if err != nil {
		return err
	}
	var names []string
	for i := range b.Clusters {
		names = append(names, fleet.Name(i+1))
	}
	return steps.With(ctx, steps.Options{Dir: dir, Work: work, Clusters: names, Subject: p.subject, BrokenImage: brokenImage,
		ReplicaSets: steps.ReplicaSets(b.ReplicaSets, b.Deploy), FloorUntil: p.floorUntil, EnableOn: b.EnableOn, Times: b.Times, Sandbox: sandbox, Record: b.record, Out: b.Out},
		func(ctx context.Context, f *steps.Fleet) error { return p.run(ctx, f, up) })
}

// keepLogs copies the logs that end with the sandbox.
func (b *bench) keepLogs(dir, work string) {
	for _, pattern := range []string{"sandbox.log", "fleet/logs/*", "hub/logs/*"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			// a log that cannot be kept is no reason to fail for
			if content, err := os.ReadFile(name); err == nil {
				_ = os.WriteFile(filepath.Join(work, filepath.Base(name)), content, 0o600)
			}
		}
	}
}

// sandbox runs ocm-sandbox. An interrupt of the terminal is for the benchmark, which then ends it.
func (b *bench) sandbox(ctx context.Context, args ...string) error {
	// #nosec G204 -- the caller's own command
	cmd := exec.CommandContext(ctx, b.Sandbox[0], append(b.Sandbox[1:len(b.Sandbox):len(b.Sandbox)], args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, output.String())
	}
	return nil
}
