package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The demo's cluster, and the ConfigMap that the add-on copies to it.
const (
	cluster       = "cluster1"
	configMapName = "greeting"
)

// The aims that the summary shows: on two cores, with the programs built.
const (
	aimTotal     = 30 * time.Second
	aimFirstCopy = 5 * time.Second
	aimAvailable = 35 * time.Second
)

// demo is one run.
type demo struct {
	Options
	started time.Time
	clients *clients
}

// Run runs the demo. Without Once the sandbox stays up until ctx ends. Run removes the
// sandbox before it returns.
func Run(ctx context.Context, options Options) (err error) {
	if err := options.Validate(); err != nil {
		return err
	}
	d := &demo{Options: options, started: time.Now()}
	d.chapter("0. The programs of the sandbox (the first time this compiles for minutes)")
	if err := d.run(ctx, d.sandboxArgs("build")...); err != nil {
		return fmt.Errorf("build the sandbox's programs: %w", err)
	}
	d.started = time.Now()
	clusters := "1 managed cluster"
	if d.Clusters != 1 {
		clusters = fmt.Sprintf("%d managed clusters", d.Clusters)
	}
	d.chapter("1. A hub and %s, as processes of this machine", clusters)
	if err := d.run(ctx, d.sandboxArgs("up", fmt.Sprintf("--clusters=%d", d.Clusters), "--status-sync-interval=5s", "--image="+d.Image+"="+d.ImageRoot)...); err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, d.down()) }()
	err = d.show(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	case d.Once:
		return err
	case err != nil:
		d.say("\nerror: %v\nThe sandbox stays up for you to investigate. Ctrl-C ends it and removes its files.", err)
	default:
		d.say("\nThe sandbox stays up: try the commands above. Ctrl-C ends it and removes its files.")
	}
	<-ctx.Done()
	return err
}

// down removes the sandbox, even after an interrupt.
func (d *demo) down() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.run(ctx, d.sandboxArgs("down")...); err != nil {
		return fmt.Errorf("end the sandbox: %w", err)
	}
	return nil
}

func (d *demo) sandboxArgs(args ...string) []string {
	return append([]string{d.Sandbox, "--dir=" + d.Dir, "--programs=" + d.Programs, "--module=" + d.Module}, args...)
}

// show runs the chapters from the add-on's deployment on.
func (d *demo) show(ctx context.Context) (err error) {
	if d.clients, err = newClients(d.kubeconfig, d.clusterNames()); err != nil {
		return err
	}
	d.chapter("2. The add-on's controllers on the hub (make deploy-example DISTRIBUTION=1)")
	if err := d.run(ctx, "env", "DISTRIBUTION=1", filepath.Join(d.Deploy, "apply"), d.Kubectl, d.Image); err != nil {
		return fmt.Errorf("deploy the add-on: %w", err)
	}
	if _, err := d.watch(ctx, []effect{d.runs(controller, "the controller"), d.runs(controllerOfSets, "the controller of ConfigMapReplicaSets")}); err != nil {
		return err
	}

	d.chapter("3. A ConfigMap on the hub, in the namespace of %s, and the add-on enabled there", cluster)
	if err := d.writeConfigMap(ctx, "hello from the hub"); err != nil {
		return err
	}
	d.say("   (as by: kubectl create configmap %s -n %s --from-literal=greeting='hello from the hub')", configMapName, cluster)
	enabled := time.Now()
	if err := d.hubRun(ctx, "apply", "-f", filepath.Join(d.Deploy, "example", "managedclusteraddon.yaml")); err != nil {
		return fmt.Errorf("enable the add-on: %w", err)
	}
	times, err := d.watch(ctx, d.enabling())
	if err != nil {
		return err
	}
	copied, available := times["copy"], times["available"]

	d.chapter("4. The ConfigMap changes on the hub, and is deleted there")
	changed, deleted, err := d.changeAndDelete(ctx)
	if err != nil {
		return err
	}

	d.chapter("5. One ConfigMap for every cluster, first for the canary: a ConfigMapReplicaSet")
	distributed, err := d.distribute(ctx)
	if err != nil {
		return err
	}
	if !d.Once {
		d.look()
	}
	d.summary(copied.Sub(d.started), copied.Sub(enabled), available.Sub(enabled), changed, deleted, distributed)
	return nil
}

// changeAndDelete changes and deletes the ConfigMap on the hub, and returns the times
// until the copy has followed.
func (d *demo) changeAndDelete(ctx context.Context) (changed, deleted time.Duration, err error) {
	start := time.Now()
	if err := d.writeConfigMap(ctx, "changed on the hub"); err != nil {
		return 0, 0, err
	}
	times, err := d.watch(ctx, []effect{d.copyHas("changed on the hub")})
	if err != nil {
		return 0, 0, err
	}
	changed = times["copy"].Sub(start)
	start = time.Now()
	if err := d.clients.deleteConfigMap(ctx); err != nil {
		return 0, 0, err
	}
	if times, err = d.watch(ctx, []effect{d.copyGone()}); err != nil {
		return 0, 0, err
	}
	return changed, times["gone"].Sub(start), nil
}

// hubRun runs kubectl on the hub.
func (d *demo) hubRun(ctx context.Context, args ...string) error {
	return d.run(ctx, append([]string{d.Kubectl, "--kubeconfig=" + d.kubeconfig("hub")}, args...)...)
}

// run prints a command and runs it, with its output indented below.
func (d *demo) run(ctx context.Context, args ...string) error {
	d.say("   $ %s", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out := &indented{out: d.Out, prefix: "     "}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig("hub"))
	// Ctrl-C in a terminal interrupts the whole foreground process group. A command
	// has a group of its own, so that the demo ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
