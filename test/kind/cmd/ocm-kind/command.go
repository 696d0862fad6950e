package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/test/kind/clusters"
	"open-cluster-management.io/helloworld-addon/test/kind/ocm"
	"open-cluster-management.io/helloworld-addon/test/kind/progress"
)

func command(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "ocm-kind",
		Short:         "Open Cluster Management on kind clusters",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	options := &clusters.Options{Progress: progress.New(out)}
	root.PersistentFlags().StringVar(&options.Dir, "dir", ".kind", "directory for the kubeconfigs")
	root.PersistentFlags().StringVar(&options.Prefix, "prefix", "", "what the names of the kind clusters begin with")
	root.AddCommand(upCommand(options), deployCommand(options), loadCommand(options), logsCommand(options),
		inventoryCommand(options), chartCommand(options), downCommand(options))
	return root
}

func upCommand(options *clusters.Options) *cobra.Command {
	up := clusters.UpOptions{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a hub and managed clusters, and write their kubeconfigs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(options.Validate(), up.Validate()); err != nil {
				return err
			}
			set, err := clusters.Open(cmd.Context(), *options)
			if err != nil {
				return err
			}
			if err := set.Up(cmd.Context(), up); err != nil {
				return err
			}
			options.Progress.Say("kubeconfigs: %s …, and %s/kubeconfig with all as contexts", options.Kubeconfig(clusters.Hub), options.Dir)
			return nil
		},
	}
	cmd.Flags().IntVar(&up.Clusters, "clusters", 1, "number of managed clusters")
	cmd.Flags().StringVar(&up.NodeImage, "node-image", "", "image of the nodes; empty: kind's own default")
	cmd.Flags().DurationVar(&up.RestartBackOff, "restart-back-off", 0,
		"the longest wait of a kubelet before it restarts a container, from Kubernetes 1.32 on; 0: its default of 5m")
	return cmd
}

func deployCommand(options *clusters.Options) *cobra.Command {
	builder := &ocm.Builder{Progress: options.Progress}
	var source string
	var members membership
	cmd := &cobra.Command{
		Use:   "deploy-ocm",
		Short: "Install Open Cluster Management on the hub and join the clusters",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := ocm.ParseSource(source)
			if err != nil {
				return err
			}
			set, names, err := openStarted(cmd.Context(), options)
			if err != nil {
				return err
			}
			managed, err := members.clusters(set, names)
			if err != nil {
				return err
			}
			return deploy(cmd.Context(), set, members.hubs(set), managed, builder, from)
		},
	}
	cmd.Flags().StringVar(&source, "images", string(ocm.SourceAuto),
		"where OCM's images come from: published, built (from the pinned Go modules), or auto")
	cmd.Flags().StringVar(&builder.Module, "module", "sandbox/programs", "Go module that pins OCM's programs")
	cmd.Flags().StringVar(&builder.Out, "programs", "bin/ocm", "directory for OCM's built programs")
	cmd.Flags().StringVar(&members.hubAs, "hub-as", "", "join the hub to itself too, as a managed cluster of this name")
	cmd.Flags().IntVar(&members.hosted, "hosted", 0, "number of clusters, the last ones, that are managed in hosted mode from cluster1")
	cmd.Flags().StringVar(&members.secondHub, "second-hub", "", "directory of another set, whose hub the clusters can also join")
	return cmd
}

// deploy installs OCM on the first hub, and joins the clusters.
func deploy(ctx context.Context, set *clusters.Set, hubs, managed []ocm.Cluster, builder *ocm.Builder, from ocm.Source) error {
	images, err := builder.Provide(ctx, from)
	if err != nil {
		return err
	}
	err = set.Progress.Step(ctx, "OCM "+ocm.Version+" runs on hub", nil, func(ctx context.Context) error {
		if err := set.Load(ctx, clusters.Hub, images.Hub()...); err != nil {
			return err
		}
		return ocm.InstallHub(ctx, hubs[0], images)
	})
	if err != nil {
		return err
	}
	for _, cluster := range managed {
		err := set.Progress.Step(ctx, cluster.Name+" has joined and is available", nil, func(ctx context.Context) error {
			on, needed := cluster.Name, images.Managed()
			if cluster.Hosting != nil {
				on, needed = cluster.Hosting.Name, images.Hosting()
			}
			if cluster.Kubeconfig != hubs[0].Kubeconfig { // which has all images
				if err := set.Load(ctx, on, needed...); err != nil {
					return err
				}
			}
			return ocm.Join(ctx, hubs, cluster, images)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// membership selects which clusters of a set join which hubs, and how.
type membership struct {
	hubAs     string
	hosted    int
	secondHub string
}

// hubs are the set's own hub and the second one.
func (m membership) hubs(set *clusters.Set) []ocm.Cluster {
	hubs := []ocm.Cluster{clusterOf(set, clusters.Hub, clusters.Hub)}
	if m.secondHub != "" {
		other := clusters.Options{Dir: m.secondHub}
		hubs = append(hubs, ocm.Cluster{Name: "hub2", Kubeconfig: other.Kubeconfig(clusters.Hub), Internal: other.Internal(clusters.Hub)})
	}
	return hubs
}

// clusters are the managed clusters of a set with these names, the hub's first.
func (m membership) clusters(set *clusters.Set, names []string) ([]ocm.Cluster, error) {
	names = names[1:]
	if m.hosted < 0 || m.hosted > 0 && m.hosted >= len(names) {
		return nil, fmt.Errorf("--hosted=%d: there are %d managed clusters, and the first one is the hosting cluster", m.hosted, len(names))
	}
	var managed []ocm.Cluster
	for i, name := range names {
		cluster := clusterOf(set, name, name)
		if i >= len(names)-m.hosted {
			hosting := managed[0]
			cluster.Hosting = &hosting
		}
		managed = append(managed, cluster)
	}
	if m.hubAs != "" {
		managed = append(managed, clusterOf(set, clusters.Hub, m.hubAs))
	}
	return managed, nil
}

// clusterOf is a cluster of the set under the name that the hub knows it by.
func clusterOf(set *clusters.Set, name, as string) ocm.Cluster {
	return ocm.Cluster{Name: as, Kubeconfig: set.Kubeconfig(name), Internal: set.Internal(name)}
}

func loadCommand(options *clusters.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE...",
		Short: "Give images that Docker has to the nodes of all clusters",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, images []string) error {
			set, names, err := openStarted(cmd.Context(), options)
			if err != nil {
				return err
			}
			for _, name := range names {
				err := options.Progress.Step(cmd.Context(), name+" has "+strings.Join(images, ", "), nil, func(ctx context.Context) error {
					return set.Load(ctx, name, images...)
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func downCommand(options *clusters.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Delete the clusters and their kubeconfigs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := clusters.Open(cmd.Context(), *options)
			if err != nil {
				return err
			}
			return set.Down()
		},
	}
}

// openStarted is the set, which has to have a hub, and its clusters' names.
func openStarted(ctx context.Context, options *clusters.Options) (*clusters.Set, []string, error) {
	set, err := clusters.Open(ctx, *options)
	if err != nil {
		return nil, nil, err
	}
	names, err := set.Names()
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 || names[0] != clusters.Hub {
		return nil, nil, fmt.Errorf("%s has no kubeconfig of a kind cluster %s%s that is there: make kind-up first, with the same KIND_PREFIX and KIND_DIR",
			options.Dir, options.Prefix, clusters.Hub)
	}
	return set, names, nil
}
