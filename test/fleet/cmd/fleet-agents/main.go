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
	"syscall"

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
	floor := flags.Bool("floor", false,
		"beside each agent, also run the benchmark's floor, for the ConfigMaps with the label "+agents.FloorSelector)
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
	agent := agents.Agent
	if *floor {
		agent = agents.AgentAndFloor
	}
	return fleet.Serve(ctx, fleet.Agents{Image: *image, Agent: agent, Job: agents.Uninstall})
}
