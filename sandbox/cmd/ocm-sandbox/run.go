package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/runner"
)

const runHelp = `Start a sandbox, run a command on it, and remove it. The exit code is that of the command, or 1
when the sandbox does not start. For example:

  ocm-sandbox run --clusters=2 -- go test ./test/e2e
  ocm-sandbox run -- bash                      # look around; exit removes the sandbox

The command finds the clusters by KUBECONFIG (contexts hub, cluster1, ...), HUB_KUBECONFIG,
CLUSTER1_KUBECONFIG and so on, and calls of ocm-sandbox in it find the sandbox by SANDBOX_DIR. PATH ends
with a directory that has a kubectl. Each run has a directory of its own, so --dir and SANDBOX_DIR do not
count, and runs beside each other do not collide. OCM's work agents read statuses every 5 seconds; with
up every minute.

Messages go to standard error. When the command fails, logs and objects are kept in a directory that is
named there; an interrupt keeps none. Signals go to the command. When ocm-sandbox itself is killed, the
command and the sandbox are ended too.`

func runCommand(options *launcher.Options) *cobra.Command {
	run := runner.Options{Messages: os.Stderr}
	cmd := &cobra.Command{
		Use:                   "run [FLAGS] -- COMMAND [ARGUMENT...]",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command on a sandbox of its own, and remove the sandbox",
		Long:                  runHelp,
		Args:                  cobra.MinimumNArgs(1),
		PreRun:                func(cmd *cobra.Command, _ []string) { runDefaults(cmd, options) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("dir") {
				return errors.New("--dir: run makes a directory of its own; leave the flag out, or use up --dir")
			}
			run.Command = args
			run.Collect = collectInto
			run.Up = func(ctx context.Context, dir string) ([]string, error) {
				options.Dir, options.Out = dir, os.Stderr
				if err := launcher.Up(ctx, *options); err != nil {
					return nil, err
				}
				return environment(options)
			}
			return runner.Run(cmd.Context(), run)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows COMMAND belongs to it
	addUpFlags(cmd, options)
	cmd.Flags().Lookup(statusSyncInterval).DefValue = runSyncInterval.String()
	cmd.Flags().BoolVar(&run.Keep, "keep", false, "leave the sandbox running after the command")
	cmd.Flags().StringVar(&run.KeepLogs, "keep-logs", "",
		"directory for the logs and objects when the command fails (default: a new one for temporary files)")
	return cmd
}

// runSyncInterval is the default of --status-sync-interval for run, whose commands are tests that wait for statuses. Package
// sandboxtest has the same.
const runSyncInterval = 5 * time.Second

// runDefaults sets the defaults that differ from those of up, or depend on other flags. The commands share options, so
// a default in the definition of a flag would be that of the command defined last.
func runDefaults(cmd *cobra.Command, options *launcher.Options) {
	fleetDefaults(cmd, options)
	if !cmd.Flags().Changed(statusSyncInterval) {
		options.Agents.StatusSyncInterval = runSyncInterval
	}
}

// guardCommand returns the command that package runner calls.
func guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    runner.GuardCommand + " DIRECTORY",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			// the end of its input ends it, not a signal to all processes
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return runner.Guard(os.Stdin, args[0])
		},
	}
}
