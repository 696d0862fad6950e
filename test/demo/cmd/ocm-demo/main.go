// Command ocm-demo shows the add-on's main job on a sandbox.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/test/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	options := demo.Options{Out: os.Stdout, Patience: 4 * time.Minute}
	cmd := &cobra.Command{
		Use: "ocm-demo", Short: "Show the add-on's main job on a sandbox", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo.Run(cmd.Context(), options) },
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Sandbox, "sandbox", "bin/ocm-sandbox", "path of ocm-sandbox")
	flags.StringVar(&options.Programs, "programs", "bin/sandbox", "directory of the built programs")
	flags.StringVar(&options.Module, "module", "sandbox/programs", "Go module that pins the programs")
	flags.StringVar(&options.Dir, "dir", cmp.Or(os.Getenv("SANDBOX_DIR"), ".sandbox"), "directory of the sandbox (environment SANDBOX_DIR)")
	flags.StringVar(&options.Image, "image", "", "the add-on's image")
	flags.StringVar(&options.ImageRoot, "image-root", "bin/image", "directory laid out like the image")
	flags.StringVar(&options.Kubectl, "kubectl", "bin/sandbox/kubectl", "path of kubectl")
	flags.StringVar(&options.Deploy, "deploy", "deploy", "directory of the add-on's manifests")
	flags.IntVar(&options.Clusters, "clusters", 1, "number of managed clusters")
	flags.BoolVar(&options.Once, "once", false, "end after the last effect")
	return cmd
}
