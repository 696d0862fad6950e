// Package doctor is the command "kubectl helloworld doctor": why the add-on is not as it should be on a cluster, the
// cause first, and what to do. Package diagnosis decides, package registration judges OCM's registration agent, and
// this one reads the hub and, with a kubeconfig of it, the managed cluster, and prints.
//
// It writes nothing. It creates SubjectAccessReviews, which an API server answers and does not store, to learn what
// others may do. It lists what it could not read, and does not judge that. It takes what a managed cluster says for
// untrusted: it connects to no address and reads no file that a cluster names.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// Options are the command line.
type Options struct {
	// Clusters are the names of clusters; empty means every cluster on which the add-on is not well.
	Clusters []string
	// ManagedKubeconfig and ManagedContext lead to the managed cluster. With a context alone, the kubeconfig is that of
	// the hub. Both empty: the managed cluster is not read.
	ManagedKubeconfig, ManagedContext string
	// Output is the format: empty, json or yaml.
	Output string
}

// formats are the values of --output, and byDefault is what is printed without it.
var formats = []string{"json", "yaml"}

const byDefault = "text"

// Validate returns all problems of the command line.
func (o Options) Validate() error {
	var errs []error
	if err := terminal.CheckOutput(o.Output, byDefault, formats); err != nil {
		errs = append(errs, err)
	}
	if o.managed() && len(o.Clusters) != 1 {
		errs = append(errs, fmt.Errorf("--managed-kubeconfig and --managed-context are about one cluster: name it, instead of %d", len(o.Clusters)))
	}
	return errors.Join(errs...)
}

func (o Options) managed() bool { return o.ManagedKubeconfig != "" || o.ManagedContext != "" }

const example = `  # every cluster with a fault
  kubectl helloworld doctor

  # one cluster
  kubectl helloworld doctor cluster1

  # with what only the managed cluster has: OCM's agents, credentials, pods. In hosted mode, name the hosting cluster's
  kubectl helloworld doctor cluster1 --managed-kubeconfig=cluster1.kubeconfig`

// NewCommand returns the command.
func NewCommand(config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	options := Options{}
	command := &cobra.Command{
		Use:     "doctor [CLUSTER...]",
		Short:   "Tell why the add-on is not well on a cluster, and what to do",
		Example: example,
		Long: "Follow the chain on which a copy depends, from the add-on on the hub to the agent on the managed cluster, and print what is\n" +
			"broken: the cause first, what it has as consequence, and what to do.\n\n" +
			"Exit code 0: nothing is wrong; 1: something is; 2: the hub could not be asked.",
		ValidArgsFunction: status.CompleteClusters(config),
		RunE: func(command *cobra.Command, args []string) error {
			options.Clusters = args
			return terminal.Unanswered(run(command.Context(), options, config, streams))
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.ManagedKubeconfig, "managed-kubeconfig", "", "kubeconfig file of the managed cluster")
	flags.StringVar(&options.ManagedContext, "managed-context", "", "context of the managed cluster, in --managed-kubeconfig or in the hub's kubeconfig")
	terminal.AddOutput(command, &options.Output, byDefault, formats)
	terminal.UnansweredFlags(command)
	return command
}

func run(ctx context.Context, o Options, config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) error {
	if err := o.Validate(); err != nil {
		return err
	}
	restConfig, err := config.ToRESTConfig()
	if err != nil {
		return err
	}
	hub, err := newHub(restConfig)
	if err != nil {
		return err
	}
	hub.flags = flagsOf(config)
	var managed *managedCluster
	if o.managed() {
		if managed, err = o.connect(ctx, config, restConfig); err != nil {
			return err
		}
	}
	now := clock.RealClock{}.Now()
	all, err := hub.gather(ctx, o.Clusters, now)
	if err != nil {
		return err
	}
	report := Report{Now: now, all: len(o.Clusters) == 0}
	for _, facts := range all {
		if managed != nil {
			managed.gather(ctx, &facts)
		}
		report.Clusters = append(report.Clusters, diagnosis.Examine(facts))
	}
	if err := report.print(o.Output, streams.Out, terminal.HasColors(streams.Out, os.LookupEnv)); err != nil {
		return err
	}
	if !report.Well {
		return terminal.ErrNotWell
	}
	return nil
}

// connect returns a client of the managed cluster.
func (o Options) connect(ctx context.Context, config genericclioptions.RESTClientGetter, hub *rest.Config) (*managedCluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	flags := ""
	if o.ManagedKubeconfig != "" {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: o.ManagedKubeconfig}
		flags += " " + shell.Quote("--kubeconfig="+o.ManagedKubeconfig)
	} else if path := explicitKubeconfig(config); path != "" {
		rules.ExplicitPath = path
		flags += " " + shell.Quote("--kubeconfig="+path)
	}
	if o.ManagedContext != "" {
		flags += " " + shell.Quote("--context="+o.ManagedContext)
	}
	restConfig, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.ManagedContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the managed cluster: %w", err)
	}
	return newManagedCluster(ctx, restConfig, hub, flags)
}

// explicitKubeconfig returns the value of --kubeconfig, or an empty string.
func explicitKubeconfig(config genericclioptions.RESTClientGetter) string {
	if flags, ok := config.(*genericclioptions.ConfigFlags); ok && flags.KubeConfig != nil {
		return *flags.KubeConfig
	}
	return ""
}

// flagsOf returns the flags with which the user reached the hub, each after a space.
func flagsOf(config genericclioptions.RESTClientGetter) string {
	text := ""
	flags, ok := config.(*genericclioptions.ConfigFlags)
	if !ok {
		return text
	}
	for _, flag := range []struct {
		name  string
		value *string
	}{{"kubeconfig", flags.KubeConfig}, {"context", flags.Context}, {"cluster", flags.ClusterName}, {"user", flags.AuthInfoName},
		{"server", flags.APIServer}, {"as", flags.Impersonate}} {
		if flag.value != nil && *flag.value != "" {
			text += " " + shell.Quote("--"+flag.name+"="+*flag.value)
		}
	}
	return text
}

// requestTimeout is how long one request may take, unless --request-timeout is set.
const requestTimeout = 30 * time.Second

// limited returns a copy of the configuration whose requests end.
func limited(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	if c.Timeout == 0 {
		c.Timeout = requestTimeout
	}
	// A few dozen requests, one after the other for each resource.
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	return c
}
