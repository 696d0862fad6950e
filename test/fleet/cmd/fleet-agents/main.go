// Command fleet-agents runs the add-on's agents for the simulated clusters of a sandbox:
//
//	ocm-sandbox up --fleet=500 --fleet-agents=bin/fleet-agents
//
// See test/fleet/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/test/fleet/agents"
)

// gcPercent is GOGC in the agent's Deployment.
const gcPercent = 50

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fleet-agents", flag.ContinueOnError)
	image := flags.String("image", "quay.io/open-cluster-management/helloworld-addon",
		"image of the pods that get an agent; without a tag or digest: all of them")
	floorUntil := flags.String("floor-until", "",
		"beside each agent, also run the benchmark's floor, for the ConfigMaps with the label "+agents.FloorSelector+", until this `file` exists")
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	verbosity := all.Lookup("v")
	flags.Var(verbosity.Value, verbosity.Name, "log level; from 1 on with the agents' own lines")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	agent := agents.Agent
	if *floorUntil != "" {
		floorCtx, end := context.WithCancel(ctx)
		group.Go(func() {
			defer end()
			awaitFile(ctx, *floorUntil)
		})
		agent = agents.WithFloor(floorCtx)
	}
	return fleet.Serve(ctx, fleet.Agents{Image: *image, Agent: agent, Job: agents.Uninstall})
}

// awaitFile returns when the file exists or ctx ends.
func awaitFile(ctx context.Context, name string) {
	// It fails only when ctx ends.
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		_, err := os.Stat(name)
		return err == nil, nil
	})
}
