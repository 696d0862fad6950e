package demo

import (
	"context"
	"fmt"
	"os"
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
	common := []string{"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}
	for _, name := range leafHubs {
		config, err := d.hubs[name].as("hub-of-hubs-status-report")
		if err != nil {
			return err
		}
		report := d.command(context.WithoutCancel(ctx), "hub-of-hubs-status-sync/bin/hub-of-hubs-status-report", append(common, "--kubeconfig="+config, "--leaf-hub-name="+name)...)
		report.Env = append(os.Environ(), "DATABASE_URL="+d.writer)
		if err := d.keep(name+"-report", report); err != nil {
			return err
		}
	}
	config, err := d.hubs[global].as("hub-of-hubs-status-sync")
	if err != nil {
		return err
	}
	sync := d.command(context.WithoutCancel(ctx), "hub-of-hubs-status-sync/bin/hub-of-hubs-status-sync", append(common, "--kubeconfig="+config)...)
	sync.Env = append(os.Environ(), "DATABASE_URL="+d.reader)
	return d.keep("global-sync", sync)
}
