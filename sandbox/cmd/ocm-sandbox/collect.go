package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/collect"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

const collectHelp = `Write what a bug report needs into a new directory:

  about.txt   versions, status, and what could not be collected
  logs/       of all programs and pods, and the audit logs
  events/     of each cluster, the oldest first
  objects/    of each cluster, as YAML: CLUSTER/NAMESPACE/KIND.yaml

The values of Secrets are left out, also inside ManifestWorks. Look at ConfigMaps, arguments and
environment of containers, and pods' logs yourself before you publish them. For example:

  ocm-sandbox collect my-report && tar czf my-report.tar.gz my-report`

func collectCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "collect DIRECTORY",
		Short: "Write logs, events and objects of a running sandbox into a directory, for a bug report",
		Long:  collectHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(options.Dir)
			if err != nil {
				return fmt.Errorf("--dir=%s: %w", options.Dir, err)
			}
			if err := collectInto(cmd.Context(), dir, args[0]); errors.Is(err, collect.ErrIncomplete) {
				_, _ = fmt.Fprintln(options.Out, err) // also in about.txt
			} else if err != nil {
				return err
			}
			_, err = fmt.Fprintf(options.Out, "collected in %s\n", args[0])
			return err
		},
	}
}

// collectInto collects from the sandbox in dir.
func collectInto(ctx context.Context, dir, to string) error {
	return collect.Run(ctx, collect.Options{Dir: dir, To: to, Report: func(ctx context.Context, out io.Writer) error {
		return launcher.Report(ctx, launcher.Options{Dir: dir, Out: out})
	}})
}

const envHelp = `Print the variables by which commands find the sandbox's clusters, for a shell:

  eval "$(ocm-sandbox env)"
  kubectl get managedclusters                        # KUBECONFIG has all clusters as contexts
  kubectl --kubeconfig=$CLUSTER1_KUBECONFIG get pods -A

PATH gets the directory of the built programs at its end, which has a kubectl.`

func envCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print export lines with the kubeconfigs of a running sandbox",
		Long:  envHelp,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			variables, err := environment(options)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(options.Out, exports(variables))
			return err
		},
	}
}

// environment returns the variables for commands on a running sandbox.
func environment(options *launcher.Options) ([]string, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("--dir=%s: %w", options.Dir, err)
	}
	record, err := statedir.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no sandbox in %s: start one with ocm-sandbox up", dir)
	}
	if err != nil {
		return nil, err
	}
	if !record.Ready || !record.Running() {
		return nil, fmt.Errorf("the sandbox in %s does not run, or its start has not ended: ocm-sandbox status tells more", dir)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	return launcher.Environment(dir, self, record.Programs, os.Getenv("PATH"), record.Clusters), nil
}

// exports returns a line for each variable, but none for OCM_SANDBOX_USE: after the sandbox's end the tests of that shell
// would start one there again, and leave it running.
func exports(variables []string) string {
	var lines strings.Builder
	for _, variable := range variables {
		if name, value, _ := strings.Cut(variable, "="); name != "OCM_SANDBOX_USE" {
			_, _ = fmt.Fprintf(&lines, "export %s=%s\n", name, quote(value))
		}
	}
	return lines.String()
}

// quote quotes a word for a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
