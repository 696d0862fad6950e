package main

import (
	"context"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/test/kind/clusters"
	"open-cluster-management.io/helloworld-addon/test/kind/ocm"
)

// chartCommand installs a Helm chart on the hub as `helm` would, so that the tests
// need no installed Helm.
func chartCommand(options *clusters.Options) *cobra.Command {
	cmd := &cobra.Command{Use: "chart", Short: "Install a Helm chart on the hub, or uninstall its release"}
	var set []string
	install := &cobra.Command{
		Use:   "install DIRECTORY",
		Short: "Install the chart in a directory, or upgrade its release, and wait until it is ready",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onHub(cmd.Context(), options, "chart "+args[0]+" is installed", func(ctx context.Context, kubeconfig string) error {
				return ocm.InstallChart(ctx, kubeconfig, args[0], set)
			})
		},
	}
	install.Flags().StringArrayVar(&set, "set", nil, "KEY=VALUE as for helm --set (repeatable)")
	uninstall := &cobra.Command{
		Use:   "uninstall RELEASE",
		Short: "Uninstall a release",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onHub(cmd.Context(), options, "release "+args[0]+" is uninstalled", func(ctx context.Context, kubeconfig string) error {
				return ocm.UninstallChart(ctx, kubeconfig, args[0])
			})
		},
	}
	cmd.AddCommand(install, uninstall)
	return cmd
}

// onHub does something on the hub as a step that is told.
func onHub(ctx context.Context, options *clusters.Options, what string, do func(ctx context.Context, kubeconfig string) error) error {
	set, _, err := openStarted(ctx, options)
	if err != nil {
		return err
	}
	return options.Progress.Step(ctx, what, nil, func(ctx context.Context) error { return do(ctx, set.Kubeconfig(clusters.Hub)) })
}
