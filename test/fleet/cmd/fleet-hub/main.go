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
	"time"

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

// settings are the program's flags.
type settings struct {
	hub        hub.Options
	about      origin.Options
	controller string
	flags      []string
	idle       time.Duration
	enable     bool
	json       string
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("fleet-hub", flag.ContinueOnError)
	flags.IntVar(&s.hub.Clusters, "clusters", 5000, "number of ManagedClusters")
	flags.IntVar(&s.hub.AddOns, "addons", 20, "number of add-ons that each has, ours included")
	quick := flags.Bool("quick", false, "500 clusters")
	flags.StringVar(&s.hub.Programs, "programs", "bin/sandbox", "directory with etcd, kube-apiserver, addon and ocm-manifests")
	flags.StringVar(&s.controller, "controller", "bin/helloworld-controller", "the controller's program")
	flags.StringVar(&s.hub.Deploy, "deploy", "deploy", "directory with the controller's manifests")
	flags.DurationVar(&s.idle, "idle", measure.DefaultIdle, "how long to watch the idle controller")
	flags.BoolVar(&s.enable, "enable", false, "measure instead how the add-on is enabled on all clusters at once, by OCM's add-on manager")
	extra := flags.String("controller-flags", "", "further flags of the controller")
	flags.StringVar(&s.json, "json", "", "file for the figures of --enable (default artifacts/hub-CLUSTERS.json)")
	flags.StringVar(&s.about.Command, "command", "bin/fleet-hub "+strings.Join(args, " "), "the command line, for the record")
	flags.StringVar(&s.about.Version, "version", "", "the add-on's version, for the record")
	flags.StringVar(&s.about.Module, "module", "sandbox/programs", "directory of the go.mod with OCM's version")
	flags.StringVar(&s.about.Root, "root", ".", "directory of the repository")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.json != "" && !s.enable:
		return s, fmt.Errorf("--json=%s: only --enable has figures as JSON", s.json)
	case s.enable && s.idle < measure.DefaultIdle:
		return s, fmt.Errorf("--idle=%s: with --enable give at least %s, so that the heap contains no garbage", s.idle, measure.DefaultIdle)
	}
	if *quick {
		s.hub.Clusters = 500
	}
	s.flags = strings.Fields(*extra)
	s.json = cmp.Or(s.json, fmt.Sprintf("artifacts/hub-%d.json", s.hub.Clusters))
	s.about.Clusters, s.about.Settings = s.hub.Clusters, map[string]string{"idle": s.idle.String(), "controllerFlags": *extra}
	if s.controller, err = filepath.Abs(s.controller); err != nil {
		return s, fmt.Errorf("find the controller: %w", err)
	}
	return s, nil
}

func run(ctx context.Context, args []string) (err error) {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.hub.Dir, err = os.MkdirTemp("", "fleet-hub-"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(s.hub.Dir)
		} else {
			fmt.Fprintln(os.Stderr, "the logs are in", s.hub.Dir)
		}
	}()
	subject := measure.Subject{Program: s.controller, Dir: s.hub.Dir, Out: os.Stdout, Idle: s.idle, Flags: s.flags}
	return hub.With(ctx, s.hub, func(ctx context.Context, h *hub.Hub) error {
		subject.Kubeconfig, subject.Token = h.Kubeconfig, h.Token
		if s.enable {
			return enable(ctx, s, h, &subject)
		}
		if err := h.Grow(ctx, os.Stdout, subject.Start); err != nil {
			return err
		}
		return subject.Measure(ctx)
	})
}

// enable measures how the add-on is enabled, and saves what was measured even when that did not come to its end.
func enable(ctx context.Context, s settings, h *hub.Hub, subject *measure.Subject) error {
	r, err := origin.Record(s.about)
	if err != nil {
		return err
	}
	if err := h.Populate(ctx, os.Stdout); err != nil {
		return err
	}
	err = subject.Enable(ctx, h, r)
	if err != nil {
		r.Fail(record.Hub, err)
	}
	subject.Print(r)
	return errors.Join(err, origin.Save(r, s.json))
}
