// Command demo-hub-of-hubs shows the status of a hub of hubs before a person's
// eyes. See package demo.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	options := demo.Options{Out: os.Stdout, Patience: 4 * time.Minute}
	flags := pflag.NewFlagSet("demo-hub-of-hubs", pflag.ContinueOnError)
	flags.StringVar(&options.Top, "top", ".", "the project's directory, with everything built in bin/")
	flags.StringVar(&options.Image, "image", "quay.io/open-cluster-management/helloworld-addon:v0.1.0", "the add-on's image")
	flags.BoolVar(&options.Once, "once", false, "end when everything has been seen")
	flags.BoolVar(&options.Metrics, "metrics", false, "let the programs serve their metrics, and print where")
	if err := flags.Parse(args); err != nil {
		return err
	}
	top, err := filepath.Abs(options.Top)
	if err != nil {
		return fmt.Errorf("--top=%s: %w", options.Top, err)
	}
	options.Top = top
	return demo.Run(ctx, options)
}
