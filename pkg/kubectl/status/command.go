// Package status is the command "kubectl helloworld status": how the add-on is on every cluster of a hub, the worst
// first. Package report decides, and this one reads the hub and prints.
//
// It lists the ManagedClusters, and the add-on's ManagedClusterAddOns, ConfigMapMirrors and ManifestWorks, all at the
// same time, in pages. It sends no request for a single cluster, and writes nothing.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// Options are the command line.
type Options struct {
	// Clusters are the names of clusters; empty means all.
	Clusters []string
	// Selector is a label selector for ManagedClusters, ClusterSet the name of a ManagedClusterSet.
	Selector, ClusterSet string
	// Output is the format: empty, wide, json or yaml.
	Output string
	// Watch goes on with what changes.
	Watch bool
}

// Validate returns all problems of the command line.
func (o Options) Validate() error {
	var errs []error
	if err := terminal.CheckOutput(o.Output, byDefault, formats); err != nil {
		errs = append(errs, err)
	}
	if _, err := labels.Parse(o.Selector); err != nil {
		errs = append(errs, fmt.Errorf("--selector=%s: %w", o.Selector, err))
	}
	if len(o.Clusters) > 0 && (o.Selector != "" || o.ClusterSet != "") {
		errs = append(errs, errors.New("name clusters, or select them by --selector and --clusterset, not both"))
	}
	return errors.Join(errs...)
}

const example = `  # every cluster, the worst first
  kubectl helloworld status

  # two of them, with the image and the reason
  kubectl helloworld status cluster1 cluster2 -o wide

  # the clusters of a set, for a program; exit code 1 means that an add-on is not well
  kubectl helloworld status --clusterset=prod -o json

  # print the clusters of a region again whenever they change
  kubectl helloworld status -l region=eu -w`

// NewCommand returns the command.
func NewCommand(config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	options := Options{}
	command := &cobra.Command{
		Use:     "status [CLUSTER...]",
		Short:   "Show how the add-on is on every cluster, the worst first",
		Example: example,
		Long: "Show for every ManagedCluster, and for every cluster with a ManagedClusterAddOn helloworld, whether the add-on is\n" +
			"enabled, available and in sync, with the agent's version, the expiry of its credentials, and since when.\n\n" +
			"Exit code 0: every enabled add-on is well; 1: one is not; 2: the hub could not be asked.",
		ValidArgsFunction: CompleteClusters(config),
		RunE: func(command *cobra.Command, args []string) error {
			options.Clusters = args
			return terminal.Unanswered(run(command.Context(), options, config, streams))
		},
	}
	flags := command.Flags()
	flags.StringVarP(&options.Selector, "selector", "l", "", "label selector for ManagedClusters, for example region=eu")
	flags.StringVar(&options.ClusterSet, "clusterset", "", "name of a ManagedClusterSet: only its clusters")
	terminal.AddOutput(command, &options.Output, byDefault, formats)
	flags.BoolVarP(&options.Watch, "watch", "w", false, "go on, and print a cluster again whenever it changes")
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
	h, err := newHub(restConfig)
	if err != nil {
		return err
	}
	return show(ctx, o, h, clock.RealClock{}, streams)
}

// show prints the status, and with Options.Watch what changes until ctx ends.
func show(ctx context.Context, o Options, h *hub, clock clock.Clock, streams genericiooptions.IOStreams) error {
	selector, err := h.selector(ctx, o.Selector, o.ClusterSet)
	if err != nil {
		return err
	}
	resources, chosen := resourcesFor(selector), selection{names: o.Clusters, selected: o.Selector != "" || o.ClusterSet != ""}
	found := h.gather(ctx, resources)
	if err := found.problem(h.Host); err != nil {
		return err
	}
	if err := found.results[clusters].err; err != nil && chosen.selected {
		return fmt.Errorf("list ManagedClusters by labels: %w", err)
	}
	warned := map[string]string{}
	printer := newPrinter(o.Output, streams.Out, terminal.HasColors(streams.Out, os.LookupEnv))
	reported := report.New(found.input(chosen, clock.Now()))
	warn(streams.ErrOut, reported, warned)
	if err := printer.print(reported); err != nil {
		return err
	}
	if o.Watch {
		return h.follow(ctx, clock, resources, found, func() error {
			now := report.New(found.input(chosen, clock.Now()))
			warn(streams.ErrOut, now, warned)
			rows := changedRows(reported, now)
			if reported = now; len(rows) == 0 {
				return nil
			}
			return printer.changed(now, rows)
		})
	}
	return verdict(reported, chosen)
}

// verdict returns the error for the exit code.
func verdict(r *report.Report, chosen selection) error {
	if err := chosen.unknown(r); err != nil {
		return err
	}
	if r.Totals.NotWell > 0 {
		return terminal.ErrNotWell
	}
	if !r.Well {
		return errors.New("whether the add-on is well is not known")
	}
	return nil
}

// warn prints what could not be read, once for each error.
func warn(out io.Writer, r *report.Report, warned map[string]string) {
	for _, resource := range resourcesFor("") {
		i := slices.IndexFunc(r.NotRead, func(n report.NotRead) bool { return n.Resource == resource.kind })
		if i < 0 {
			delete(warned, resource.kind)
			continue
		}
		if text := r.NotRead[i].Error; warned[resource.kind] != text {
			warned[resource.kind] = text
			fmt.Fprintf(out, "warning: cannot read %s, so %s: %s\n", resource.kind, resource.lacks, terminal.Printable(text))
		}
	}
}
