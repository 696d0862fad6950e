// Command floor is the benchmark's yardstick: a bare watch and one write per
// change. It runs as a pod, like the agents that it is compared with.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/test/bench/floor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var options floor.Options
	var hubKubeconfig string
	cmd := &cobra.Command{
		Use: "floor", Short: "Copy ConfigMaps by a bare watch and one write per change", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Hub, err = clientcmd.BuildConfigFromFlags("", hubKubeconfig); err != nil {
				return fmt.Errorf("read the kubeconfig %q: %w", hubKubeconfig, err)
			}
			if options.Managed, err = rest.InClusterConfig(); err != nil {
				return fmt.Errorf("read the pod's ServiceAccount: %w", err)
			}
			return floor.Run(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&hubKubeconfig, "hub-kubeconfig", "", "kubeconfig file of the hub")
	cmd.Flags().StringVar(&options.Source, "cluster-name", "", "namespace on the hub")
	cmd.Flags().StringVar(&options.Target, "namespace", "", "namespace of the copies")
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
