// Command fleet-hub measures the hub controller on a hub with thousands of
// managed clusters as objects: see test/fleet/README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/helloworld-addon/test/fleet/hub"
	"open-cluster-management.io/helloworld-addon/test/fleet/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	var options hub.Options
	flags := flag.NewFlagSet("fleet-hub", flag.ContinueOnError)
	flags.IntVar(&options.Clusters, "clusters", 5000, "number of ManagedClusters")
	flags.IntVar(&options.AddOns, "addons", 20, "number of add-ons that each has, ours included")
	quick := flags.Bool("quick", false, "500 clusters")
	flags.StringVar(&options.Programs, "programs", "bin/sandbox", "directory with etcd, kube-apiserver, addon and ocm-manifests")
	controller := flags.String("controller", "bin/helloworld-controller", "the controller's program")
	flags.StringVar(&options.Deploy, "deploy", "deploy", "directory with the controller's manifests")
	idle := flags.Duration("idle", measure.DefaultIdle, "how long to watch the idle controller")
	enable := flags.Bool("enable", false, "measure instead how the add-on is enabled on all clusters at once, by OCM's add-on manager")
	extra := flags.String("controller-flags", "", "further flags of the controller")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		options.Clusters = 500
	}
	if options.Dir, err = os.MkdirTemp("", "fleet-hub-"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(options.Dir)
		} else {
			fmt.Fprintln(os.Stderr, "the logs are in", options.Dir)
		}
	}()
	program, err := filepath.Abs(*controller)
	if err != nil {
		return err
	}
	subject := measure.Subject{Program: program, Dir: options.Dir, Out: os.Stdout, Idle: *idle, Flags: strings.Fields(*extra)}
	return hub.With(ctx, options, func(ctx context.Context, h *hub.Hub) error {
		subject.Kubeconfig, subject.Token = h.Kubeconfig, h.Token
		if *enable {
			if err := h.Populate(ctx, os.Stdout); err != nil {
				return err
			}
			return subject.Enable(ctx, h)
		}
		if err := h.Grow(ctx, os.Stdout, subject.Start); err != nil {
			return err
		}
		return subject.Measure(ctx)
	})
}
