// Command fleet-hub measures the hub controller on a hub with thousands of
// managed clusters as objects: see test/fleet/README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/helloworld-addon/test/fleet/hub"
	"open-cluster-management.io/helloworld-addon/test/fleet/measure"
	"open-cluster-management.io/helloworld-addon/test/fleet/origin"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
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
	file := flags.String("json", "", "file for the figures of --enable (default artifacts/hub-CLUSTERS.json)")
	about := origin.Options{}
	flags.StringVar(&about.Command, "command", "bin/fleet-hub "+strings.Join(args, " "), "the command line, for the record")
	flags.StringVar(&about.Version, "version", "", "the add-on's version, for the record")
	flags.StringVar(&about.Module, "module", "sandbox/programs", "directory of the go.mod with OCM's version")
	flags.StringVar(&about.Root, "root", ".", "directory of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		options.Clusters = 500
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *file != "" && !*enable:
		return fmt.Errorf("--json=%s: only --enable has figures as JSON", *file)
	case *enable && *idle < measure.DefaultIdle:
		return fmt.Errorf("--idle=%s: with --enable give at least %s, so that the heap contains no garbage", *idle, measure.DefaultIdle)
	}
	about.Clusters, about.Settings = options.Clusters, map[string]string{"idle": idle.String(), "controllerFlags": *extra}
	r, err := origin.Record(about)
	if err != nil {
		return err
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
			err := subject.Enable(ctx, h, r)
			if err != nil {
				r.Fail(record.Hub, err)
			}
			subject.Print(r)
			return errors.Join(err, origin.Save(r, cmp.Or(*file, fmt.Sprintf("artifacts/hub-%d.json", options.Clusters))))
		}
		if err := h.Grow(ctx, os.Stdout, subject.Start); err != nil {
			return err
		}
		return subject.Measure(ctx)
	})
}
