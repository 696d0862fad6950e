package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// switchCommands returns the commands that stop and start single programs of a running sandbox,
// for example an API server, a webhook or an agent of OCM.
func switchCommands(options *launcher.Options) []*cobra.Command {
	command := func(verb, done, short string, act func(context.Context, process.Switch) error) *cobra.Command {
		return &cobra.Command{
			Use: verb + " CLUSTER/PROGRAM...", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, names []string) error {
				for _, name := range names {
					found, err := find(options.Dir, name)
					if err != nil {
						return err
					}
					if err := act(cmd.Context(), found); err != nil {
						return err
					}
					if _, err := fmt.Fprintf(options.Out, "%s %s\n", name, done); err != nil {
						return fmt.Errorf("print what was done: %w", err)
					}
				}
				return nil
			},
		}
	}
	off := func(ctx context.Context, s process.Switch) error { return s.Off(ctx) }
	on := func(ctx context.Context, s process.Switch) error { return s.On(ctx) }
	return []*cobra.Command{
		command("stop", "stopped", "Stop a program of a running sandbox, for example hub/addon-webhook", off),
		command("start", "started", "Start a stopped program", on),
		command("restart", "restarted", "Stop and start a program: a new pod, in effect", func(ctx context.Context, s process.Switch) error {
			if err := off(ctx, s); err != nil {
				return err
			}
			return on(ctx, s)
		}),
	}
}

// find returns the switch of CLUSTER/PROGRAM. The error for an unknown name lists the known ones.
func find(dir, name string) (process.Switch, error) {
	record, err := statedir.Read(dir)
	if err != nil {
		return process.Switch{}, err
	}
	clusters := record.Clusters
	if record.Fleet != nil {
		clusters = append(clusters, filepath.Base(control.FleetDir(dir)))
	}
	var known []string
	for _, cluster := range clusters {
		names, err := process.Switches(filepath.Join(dir, cluster))
		if err != nil {
			return process.Switch{}, err
		}
		for _, n := range names {
			known = append(known, cluster+"/"+n)
		}
	}
	if !slices.Contains(known, name) {
		return process.Switch{}, fmt.Errorf("no program %q in this sandbox: there are %s", name, strings.Join(known, ", "))
	}
	cluster, program, _ := strings.Cut(name, "/")
	return process.SwitchOf(filepath.Join(dir, cluster), program), nil
}
