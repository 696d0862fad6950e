package agent

import (
	"flag"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// NewCommand is the agent's command line. It prints no errors: they are
// returned.
func NewCommand() *cobra.Command {
	options := NewOptions()
	info := version.Get()
	command := &cobra.Command{
		Use:   manifests.AgentCommand,
		Short: "Mirrors a managed cluster's ConfigMaps from the hub to the cluster",
		Long: "Mirrors the ConfigMaps in a managed cluster's namespace on the hub to the install\n" +
			"namespace on the cluster, and renews the lease by which OCM knows that it works.",
		Args:          cobra.NoArgs,
		Version:       fmt.Sprintf("%s (commit %s)", info.GitVersion, info.GitCommit),
		SilenceUsage:  true,
		SilenceErrors: true,
		// One command more is no reason for a list of them.
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
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
	addLogFlags(command)
	command.AddCommand(newUninstallCommand())
	return command
}

// addLogFlags adds those of klog's flags that are not on their way out.
func addLogFlags(command *cobra.Command) {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	for _, name := range []string{manifests.FlagVerbosity, "vmodule"} {
		command.PersistentFlags().AddGoFlag(all.Lookup(name))
	}
}
