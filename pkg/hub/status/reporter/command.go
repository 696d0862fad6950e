package reporter

import (
	"fmt"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
)

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message, and none has the password.
func NewCommand(open Open) *cobra.Command {
	opts := NewOptions()
	info := version.Get()
	command := &cobra.Command{
		Use:   Program,
		Short: "Reports a leaf hub's status into a hub of hubs' database",
		Long: "Runs on a leaf hub of a hub of hubs: watches policies, placements, subscriptions, managed clusters and the add-on, " +
			"and keeps the leaf hub's rows in PostgreSQL true to them. It takes $" + envDatabaseURL + ", $" + envLeafHubName + ", $" +
			envWatchNamespace + " (empty: all namespaces) and $" + envPodNamespace + ".",
		Version: fmt.Sprintf("%s (commit %s)", info.GitVersion, info.GitCommit),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected arguments %q: only flags are taken, see %s --help", args, Program)
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(opts.Logging, nil); err != nil {
				return fmt.Errorf("set up logging: %w", err)
			}
			return Run(command.Context(), opts, open)
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, Program)
	})
	opts.AddFlags(command.Flags())
	return command
}
