package agent

import (
	"flag"
	"fmt"
	"strconv"

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
		PersistentPreRunE: func(command *cobra.Command, _ []string) error { return capVerbosity(command) },
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

// maxVerbosity is the highest log level in use. From 8 on client-go logs the bodies
// of requests and responses, and with them the Secret with the agent's private key
// (k8s.io/client-go/rest, Request.request and truncateBody).
const maxVerbosity = 7

// addLogFlags adds klog's flag for the log level. It leaves vmodule out, which
// sets the level of single files, for example of client-go's that log bodies.
func addLogFlags(command *cobra.Command) {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	level := all.Lookup(manifests.FlagVerbosity)
	level.Usage = fmt.Sprintf("number for the log level verbosity, at most %d", maxVerbosity)
	command.PersistentFlags().AddGoFlag(level)
}

// capVerbosity lowers a log level at which secrets would be logged.
func capVerbosity(command *cobra.Command) error {
	level := command.Flags().Lookup(manifests.FlagVerbosity).Value
	asked, err := strconv.Atoi(level.String())
	if err != nil || asked <= maxVerbosity {
		return err
	}
	if err := level.Set(strconv.Itoa(maxVerbosity)); err != nil {
		return fmt.Errorf("--%s: %w", manifests.FlagVerbosity, err)
	}
	klog.FromContext(command.Context()).Info("Lowered the log level: above it the log would have the bodies of requests, with secrets in them",
		"asked", asked, "level", maxVerbosity)
	return nil
}
