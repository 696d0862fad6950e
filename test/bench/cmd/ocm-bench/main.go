// Command ocm-bench measures the add-on beside the least that its work can cost
// and beside addon-framework's own example, in sandboxes of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/test/bench/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	options, quick := measure.Full(), false
	options.Out, options.Log = os.Stdout, os.Stderr
	cmd := &cobra.Command{
		Use: "ocm-bench", Short: "Measure the add-on, the floor and the rival side by side", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return measure.Run(cmd.Context(), options) },
	}
	options.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&quick, "quick", false, "a run of minutes, to see that everything works; other flags still count")
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		if quick {
			options.Quicken(cmd.Flags().Changed)
		}
	}
	return cmd
}
