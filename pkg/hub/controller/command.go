package controller

import (
	"fmt"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// NewCommand returns the command line of the program. Its errors are for the
// caller to print: each is one clear message.
func NewCommand() *cobra.Command {
	opts := NewOptions()
	info := version.Get()
	command := &cobra.Command{
		Use:   manifests.ControllerName,
		Short: "The hub side of the add-on " + manifests.AddonName + " for Open Cluster Management",
		Long: "Runs on a hub of Open Cluster Management: deploys the agent of the add-on " + manifests.AddonName +
			" to the managed clusters that have it enabled, approves the agents' certificates, and gives them their rights on the hub.",
		Version: fmt.Sprintf("%s (commit %s)", info.GitVersion, info.GitCommit),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected arguments %q: only flags are taken, see %s --help", args, manifests.ControllerName)
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
			return Run(command.Context(), opts)
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, manifests.ControllerName)
	})
	opts.AddFlags(command.Flags())
	return command
}
