package syncer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
)

// Migrate brings the tables of the database of a URL up to date, as their owner.
type Migrate func(ctx context.Context, url string) error

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message, and none has the password.
func NewCommand(open Open, migrate Migrate) *cobra.Command {
	opts := NewOptions()
	info := version.Get()
	command := &cobra.Command{
		Use:   Program,
		Short: "Keeps the status of the global hub's objects true to a hub of hubs' database",
		Long: "Runs on the global hub of a hub of hubs: reads what the leaf hubs wrote into PostgreSQL, and keeps the status " +
			"of policies, placements, subscriptions and the add-on true to it. It takes $" + envDatabaseURL + ", $" +
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
	command.AddCommand(newMigrateCommand(opts, migrate))
	return command
}

// newMigrateCommand is a command of its own because it needs another user of the
// database: the tables' owner, which the program that runs all the time is not.
func newMigrateCommand(opts *Options, migrate Migrate) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create the tables and roles in the database of $" + envDatabaseURL + ", or bring them up to date, as their owner",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if opts.DatabaseURL == "" {
				return errors.New("$" + envDatabaseURL + " is missing: set it to the URL of the database with the tables' owner as user")
			}
			return migrate(command.Context(), opts.DatabaseURL)
		},
	}
}
