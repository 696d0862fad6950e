package demo

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/definitions"
)

// install applies the kinds that Open Cluster Management does not bring itself,
// the programs' rights, and the add-on on the leaf hubs.
func (d *demo) install(ctx context.Context) error {
	files, err := definitions.Files(ctx, d.Top)
	if err != nil {
		return err
	}
	for name, h := range d.hubs {
		args := []string{"apply", "--server-side", "-f", filepath.Join(d.Top, "hub-of-hubs-status-sync/deploy/sync/crd.yaml")}
		for _, file := range files {
			// The others are there, with the hub's conversion webhook.
			if base := filepath.Base(file); strings.HasPrefix(base, "policy.") || strings.HasPrefix(base, "apps.") {
				args = append(args, "-f", file)
			}
		}
		if err := d.run(d.kubectl(ctx, h, args...)); err != nil {
			return fmt.Errorf("install the kinds on %s: %w", name, err)
		}
		rights := "hub-of-hubs-status-sync/deploy/report"
		if name == global {
			rights = "hub-of-hubs-status-sync/deploy/sync"
		}
		for _, file := range []string{"serviceaccount.yaml", "rbac.yaml"} {
			if err := d.run(d.kubectl(ctx, h, "apply", "-f", filepath.Join(d.Top, rights, file))); err != nil {
				return fmt.Errorf("give the rights on %s: %w", name, err)
			}
		}
	}
	for _, name := range leafHubs {
		h := d.hubs[name]
		apply := d.command(ctx, "deploy/apply", filepath.Join(d.Top, "bin/sandbox/kubectl"), d.Image)
		apply.Env = append(os.Environ(), "KUBECONFIG="+h.kubeconfig("hub"))
		if err := d.run(apply); err != nil {
			return fmt.Errorf("install the add-on on %s: %w", name, err)
		}
		if err := d.run(d.kubectl(ctx, h, "apply", "-f", filepath.Join(d.Top, "deploy/example/managedclusteraddon.yaml"))); err != nil {
			return fmt.Errorf("enable the add-on on %s: %w", name, err)
		}
		d.say("   %s: the add-on is installed, and enabled on cluster1", name)
	}
	return nil
}

// startPrograms starts both programs, each with the rights of its ServiceAccount
// and a database user that can do no more than it has to.
func (d *demo) startPrograms(ctx context.Context) error {
	for _, name := range leafHubs {
		report, err := d.program(ctx, name, "hub-of-hubs-status-report", "--leaf-hub-name="+name)
		if err != nil {
			return err
		}
		report.Env = append(os.Environ(), "DATABASE_URL="+d.writer)
		if err := d.keep(name+"-report", report); err != nil {
			return err
		}
	}
	sync, err := d.program(ctx, global, "hub-of-hubs-status-sync")
	if err != nil {
		return err
	}
	sync.Env = append(os.Environ(), "DATABASE_URL="+d.reader)
	return d.keep("global-sync", sync)
}

// program returns the command of a program that has the rights of its ServiceAccount on the hub.
func (d *demo) program(ctx context.Context, hub, name string, args ...string) (*exec.Cmd, error) {
	config, err := d.hubs[hub].as(name)
	if err != nil {
		return nil, err
	}
	metrics := "0"
	if d.Metrics {
		if metrics, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		d.metrics[hub] = metrics
	}
	args = append(args, "--leader-elect=false", "--health-probe-bind-address=0", "--metrics-bind-address="+metrics, "--metrics-secure=false", "--kubeconfig="+config)
	return d.command(context.WithoutCancel(ctx), "hub-of-hubs-status-sync/bin/"+name, args...), nil
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
