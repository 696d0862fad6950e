package reporter

import (
	"context"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/internal/commandline"
)

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message, and none has the password.
func NewCommand(open Open) *cobra.Command {
	opts := NewOptions()
	return commandline.New(commandline.Program{
		Name:  Program,
		Short: "Reports a leaf hub's status into a hub of hubs' database",
		Long: "Runs on a leaf hub of a hub of hubs: watches policies, placements, subscriptions, managed clusters and the add-on, " +
			"and keeps the leaf hub's rows in PostgreSQL true to them. It takes $" + program.EnvDatabaseURL + ", $" + envLeafHubName + ", $" +
			program.EnvWatchNamespace + " (empty: all namespaces) and $" + program.EnvPodNamespace + ".",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts, open) })
}
