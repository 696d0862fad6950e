package agent

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/loglevel"
)

// NewCommand returns the agent's command line. It returns errors and does not print
// them.
func NewCommand() *cobra.Command {
	options := NewOptions()
	info := version.Get()
	command := &cobra.Command{
		Use:   manifests.AgentCommand,
		Short: "Mirrors a managed cluster's ConfigMaps from the hub to the cluster",
		Long: "Mirrors the ConfigMaps in a managed cluster's namespace on the hub to the install\n" +
			"namespace on the cluster, and renews the add-on's lease while that works.",
		Args:          cobra.NoArgs,
		Version:       fmt.Sprintf("%s (commit %s)", info.GitVersion, info.GitCommit),
		SilenceUsage:  true,
		SilenceErrors: true,
		// No "completion" command beside the one for the uninstall.
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(command *cobra.Command, _ []string) error { return loglevel.Cap(command.Context()) },
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			klog.FromContext(ctx).Info("Starting "+manifests.AgentCommand,
				"version", info.GitVersion, "commit", info.GitCommit,
				"clusterName", options.ClusterName, "namespace", options.Namespace)
			return Run(ctx, options)
		},
	}
	command.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	options.AddFlags(command.Flags())
	command.PersistentFlags().AddGoFlag(loglevel.Flag())
	command.AddCommand(newUninstallCommand())
	return command
}
