// Command hub-of-hubs-status-report writes the status of a leaf hub to the
// database of a hub of hubs. See package reporter.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/logs"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/postgres"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := reporter.NewCommand(open).ExecuteContext(ctx)
	stop()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", reporter.Program, err)
		os.Exit(1)
	}
}

func open(ctx context.Context, url string) (reporter.Store, error) {
	return postgres.Open(ctx, postgres.Options{URL: url})
}
