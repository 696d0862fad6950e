package controller

import (
	"context"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/internal/commandline"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message.
func NewCommand() *cobra.Command {
	opts := NewOptions()
	return commandline.New(commandline.Program{
		Name:  manifests.ControllerName,
		Short: "The hub side of the add-on " + manifests.AddonName + " for Open Cluster Management",
		Long: "Runs on a hub of Open Cluster Management: deploys the agent of the add-on " + manifests.AddonName +
			" to the managed clusters that have it enabled, approves the agents' certificates, and gives them their rights on the hub.",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts) })
}
