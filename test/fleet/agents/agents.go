// Package agents runs the add-on's agent for the simulated clusters of a fleet: the
// real code with the arguments of each cluster's Deployment, and the real uninstall hook
// for each Job. Beside the agent it can run the floor of the benchmark (test/bench/floor),
// so that one run measures both under the same load.
//
// It has no part of its own in what is measured. What a process has only once, such as
// ports and the collection of garbage, belongs to the caller.
package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

// own are the arguments that replace those of the Deployment: a process with many agents
// has no ports for them.
var own = []string{"--health-bind-address=0", "--metrics-bind-address=0"}

// Agent runs the agent of a cluster until ctx ends. It logs only errors: the usual lines
// of thousands of agents are shown with -v=1.
func Agent(ctx context.Context, cluster fleet.Cluster) error {
	options, err := options(cluster)
	if err != nil {
		return err
	}
	return agent.Run(quiet(ctx), options)
}

func quiet(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.FromContext(ctx).V(1))
}

// options returns the agent's options for the container's arguments.
func options(cluster fleet.Cluster) (*agent.Options, error) {
	options := agent.NewOptions()
	flags := pflag.NewFlagSet(cluster.Name, pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(slices.Concat(arguments(cluster), own)); err != nil {
		return nil, fmt.Errorf("arguments of the agent of %s: %w", cluster.Name, err)
	}
	options.Managed = cluster.Managed
	options.Trim = func() {}
	return options, nil
}

// Uninstall runs the add-on's pre-delete hook of a cluster until its work is done.
func Uninstall(ctx context.Context, cluster fleet.Cluster) error {
	command := agent.NewCommand()
	command.SetArgs(append(arguments(cluster), "--kubeconfig="+cluster.Kubeconfig))
	return command.ExecuteContext(quiet(ctx))
}

// arguments returns what the container passes to its program, without the log level, which
// is that of the process.
func arguments(cluster fleet.Cluster) []string {
	container := cluster.Container
	all := slices.Concat(container.Command[min(1, len(container.Command)):], container.Args)
	return slices.DeleteFunc(all, func(argument string) bool { return strings.HasPrefix(argument, "--"+manifests.FlagVerbosity+"=") })
}
