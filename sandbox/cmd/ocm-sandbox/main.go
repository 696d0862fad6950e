// Command ocm-sandbox runs a hub and managed clusters of Open Cluster Management
// as processes of this machine, without Docker.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/runner"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == container.InitArg {
		os.Exit(containerInit())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command().ExecuteContext(ctx)
	stop()
	if exit := new(runner.ExitError); errors.As(err, &exit) {
		// the command has printed the cause
		os.Exit(exit.Code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// containerInit is the first process of a container, which becomes its program. A
// *container.StartError has been reported to the process that starts the container.
func containerInit() int {
	err := container.Init()
	if err == nil {
		return 0
	}
	if !errors.As(err, new(*container.StartError)) {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return 1
}
