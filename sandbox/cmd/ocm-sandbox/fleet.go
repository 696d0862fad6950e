package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

// allThatCanBe is the value of --fleet-cuttable that selects the default.
const allThatCanBe = -1

// addFleetFlags adds the flags about a fleet.
func addFleetFlags(cmd *cobra.Command, fleet *supervisor.Fleet) {
	cmd.Flags().IntVar(&fleet.Clusters, "fleet", 0,
		"number of simulated clusters, fleet-0001 and so on, which join the first hub with OCM's own agents in one process")
	cmd.Flags().IntVar(&fleet.Cuttable, "fleet-cuttable", allThatCanBe,
		fmt.Sprintf("number of the fleet's clusters, the first ones, that can be cut off from the hub (-1: all, at most %d)", launcher.DefaultCuttable))
	cmd.Flags().StringVar(&fleet.Agents, "fleet-agents", "",
		"'PROGRAM ARGUMENT...' that runs an add-on's agents for all clusters of the fleet, with package sandbox/fleet")
	cmd.Flags().DurationVar(&fleet.ReadyAfter, "fleet-ready-after", launcher.DefaultReadyAfter,
		"time after which a Deployment on a cluster of the fleet is available")
	cmd.Flags().StringVar(&fleet.BrokenImage, "fleet-broken-image", "",
		"part of the images whose Deployments never become available on the fleet, to try a rollout that fails")
	cmd.Flags().IntVar(&fleet.HubQPS, "hub-qps", launcher.DefaultHubQPS,
		"with a fleet: requests per second of OCM's managers and of each controller of Kubernetes on the hub,\n"+
			"with bursts of twice as many (0: their own defaults, 50 and 20)")
}

// fleetDefaults sets the defaults that depend on the size of the fleet.
func fleetDefaults(cmd *cobra.Command, options *launcher.Options) {
	if options.Fleet.Clusters > 0 && !cmd.Flags().Changed("clusters") {
		options.Clusters = 0
	}
	if options.Fleet.Cuttable == allThatCanBe {
		options.Fleet.Cuttable = max(0, min(options.Fleet.Clusters, launcher.DefaultCuttable))
	}
}

// fleetCommand returns the commands that change the fleet of a running sandbox.
func fleetCommand(options *launcher.Options) *cobra.Command {
	root := &cobra.Command{Use: "fleet", Short: "Change the fleet of a running sandbox"}
	command := func(use, short string, args cobra.PositionalArgs, act action) {
		root.AddCommand(onSandbox(options, use, short, args, act))
	}
	command("join N", "Let N more clusters join; return when all are available", cobra.ExactArgs(1),
		func(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return "", fmt.Errorf("%q is not a number of clusters", args[0])
			}
			names, err := s.Join(ctx, n)
			if err != nil {
				return "", err
			}
			return countOf("joined", names, true), nil
		})
	command("detach CLUSTER...", "Delete clusters on the hub, wait until OCM has cleaned up, and end their agents", cobra.MinimumNArgs(1),
		func(ctx context.Context, s *control.Sandbox, names []string) (string, error) {
			return countOf("detached", names, false), s.Detach(ctx, names...)
		})
	command("kubeconfig CLUSTER", "Print a kubeconfig of a cluster of the fleet", cobra.ExactArgs(1),
		func(_ context.Context, s *control.Sandbox, args []string) (string, error) {
			return encoded(s.FleetKubeconfig(args[0]))
		})
	return root
}

// setShare cuts off or mends a share of the fleet.
func setShare(ctx context.Context, s *control.Sandbox, percent string, up bool) (string, error) {
	share, err := parsePercent(percent)
	if err != nil {
		return "", fmt.Errorf("--share=%s: %w", percent, err)
	}
	names, err := s.CutShare(ctx, share, up)
	if err != nil {
		return "", err
	}
	return countOf(map[bool]string{false: "cut off", true: "mended"}[up], names, true), nil
}

// parsePercent returns the number of a text such as 10%, from 0 to 1.
func parsePercent(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, errors.New("give a percentage such as 10%, more than 0% and at most 100%")
	}
	return percent / 100, nil
}

// countOf describes how many clusters were changed, and which. Of more than three it has the first and the last if they
// are in a row, otherwise the first three.
func countOf(what string, names []string, inRow bool) string {
	which, more := strings.Join(names[:min(3, len(names))], ", "), len(names)-3
	switch {
	case more > 0 && inRow:
		which = names[0] + " to " + names[len(names)-1]
	case more > 0:
		which += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s: %d (%s)\n", what, len(names), which)
}
