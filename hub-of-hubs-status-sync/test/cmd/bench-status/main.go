// Command bench-status measures the status of a hub of hubs. See package bench.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-status:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options := bench.Defaults()
	flags := pflag.NewFlagSet("bench-status", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	return bench.Run(ctx, options, os.Stdout)
}
