package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

const setupHelp = `Build etcd, Kubernetes and OCM from their Go modules, in the versions that are pinned in this
program. That takes 6 to 9 minutes on two cores, once: the programs are in the user's cache
directory, and all repositories share them. After an interrupt, setup goes on where it was. up does
the same when a program is missing.

It needs Go, and a Go module proxy or git. The programs take 0.8 GiB, and Go's build cache 3 GiB,
which "go clean -cache" frees.`

func setupCommand(options *launcher.Options) *cobra.Command {
	fleet := false
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Build the programs that a sandbox runs, once for all repositories",
		Long:  setupHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := container.Check(cmd.Context()); err != nil {
				// before the minutes of the build; no error, since another machine may use the result
				_, _ = fmt.Fprintf(options.Out, "warning: a sandbox cannot run here: %v\n", err)
			}
			dir, err := build.Programs(cmd.Context(), build.Options{
				Module: options.Module, Out: options.Programs, Versions: options.Versions, Fleet: fleet, Progress: options.Out,
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(options.Out, "the programs are in %s\n", dir)
			return err
		},
	}
	cmd.Flags().BoolVar(&fleet, "fleet", false, "also build the program that up --fleet needs")
	return cmd
}
