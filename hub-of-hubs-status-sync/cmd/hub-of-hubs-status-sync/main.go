// Command hub-of-hubs-status-sync writes the status in the database of a hub of
// hubs to the objects of the global hub. See package syncer.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/logs"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/postgres"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := syncer.NewCommand(open, postgres.Migrate, postgres.Unmigrate).ExecuteContext(ctx)
	stop()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", syncer.Program, err)
		os.Exit(1)
	}
}

func open(ctx context.Context, url, namespace string) (syncer.Store, error) {
	return postgres.Open(ctx, postgres.Options{URL: url, Namespace: namespace})
}
