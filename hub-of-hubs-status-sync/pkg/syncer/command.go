package syncer

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/internal/commandline"
)

// Migrate brings the tables of the database of a URL up to date, as their owner.
type Migrate func(ctx context.Context, url string) error

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message, and none has the password.
func NewCommand(open Open, migrate Migrate) *cobra.Command {
	opts := NewOptions()
	command := commandline.New(commandline.Program{
		Name:  Program,
		Short: "Keeps the status of the global hub's objects true to a hub of hubs' database",
		Long: "Runs on the global hub of a hub of hubs: reads what the leaf hubs wrote into PostgreSQL, and keeps the status " +
			"of policies, placements, subscriptions and the add-on true to it. It takes $" + program.EnvDatabaseURL + ", $" +
			program.EnvWatchNamespace + " (empty: all namespaces) and $" + program.EnvPodNamespace + ".",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts, open) })
	command.AddCommand(newMigrateCommand(opts, migrate))
	return command
}

// newMigrateCommand is a command of its own because it needs another user of the
// database: the tables' owner, which the program that runs all the time is not.
func newMigrateCommand(opts *Options, migrate Migrate) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create the tables and roles in the database of $" + program.EnvDatabaseURL + ", or bring them up to date, as their owner",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if opts.DatabaseURL == "" {
				return errors.New("$" + program.EnvDatabaseURL + " is missing: set it to the URL of the database with the tables' owner as user")
			}
			return migrate(command.Context(), opts.DatabaseURL)
		},
	}
}
