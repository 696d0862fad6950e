// Command my-addon is an add-on of Open Cluster Management (OCM). It reports how many nodes each managed
// cluster has: "my-addon agent" runs on the cluster, and "my-addon controller" on the hub installs it there.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// name is that of the ClusterManagementAddOn and of each ManagedClusterAddOn.
const name = "my-addon"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "controller":
			return runController(ctx, os.Getenv)
		case "agent":
			return runAgent(ctx, os.Getenv)
		}
	}
	return errors.New("give one argument: controller or agent")
}
