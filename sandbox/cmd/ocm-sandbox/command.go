package main

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
)

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "ocm-sandbox",
		Short:         "Open Cluster Management on this machine, without Docker",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	options := &launcher.Options{Out: os.Stdout, FeatureGates: ocm.DefaultFeatureGates()}
	root.PersistentFlags().StringVar(&options.Dir, "dir", cmp.Or(os.Getenv("SANDBOX_DIR"), ".sandbox"),
		"directory of the sandbox (environment SANDBOX_DIR)")
	root.PersistentFlags().StringVar(&options.Programs, "programs", "",
		"directory of the built programs (default: one in the user's cache; with --module: bin/sandbox)")
	root.PersistentFlags().StringVar(&options.Module, "module", "",
		"directory of a Go module that pins the programs (default: the pins that are part of this program)")
	root.PersistentFlags().StringVar(&options.Versions.OCM, "ocm-version", "",
		"run another version of OCM than the pinned one, for example v1.0.0")
	root.PersistentFlags().StringVar(&options.Versions.Kubernetes, "kubernetes-version", "",
		"run another version of Kubernetes than the pinned one, for example v1.33.9")
	root.AddCommand(upCommand(options), downCommand(options), setupCommand(options), buildCommand(options), imageCommand(options),
		newCommand(options), runCommand(options), collectCommand(options), envCommand(options), guardCommand(),
		statusCommand(options), superviseCommand(options), versionCommand(options))
	root.AddCommand(switchCommands(options)...)
	root.AddCommand(situationCommands(options)...)
	root.AddCommand(reloadCommand(options), fleetCommand(options))
	explainUsage(root)
	return root
}

func upCommand(options *launcher.Options) *cobra.Command {
	untilEOF := false
	cmd := &cobra.Command{
		Use:    "up",
		Short:  "Start a hub and managed clusters; return when all have joined",
		Args:   cobra.NoArgs,
		PreRun: func(cmd *cobra.Command, _ []string) { fleetDefaults(cmd, options) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if untilEOF {
				return upUntilEOF(cmd.Context(), *options, os.Stdin, os.Stdout)
			}
			if err := launcher.Up(cmd.Context(), *options); err != nil {
				return err
			}
			return launcher.Report(cmd.Context(), *options)
		},
	}
	cmd.Flags().BoolVar(&untilEOF, "until-eof", false,
		"keep running until standard input ends, then end the sandbox: it does not outlive the program that holds the\n"+
			"other end of a pipe. Standard output is closed when all clusters have joined")
	addUpFlags(cmd, options)
	return cmd
}

// addUpFlags adds the flags with which a sandbox is started.
func addUpFlags(cmd *cobra.Command, options *launcher.Options) {
	cmd.Flags().IntVar(&options.Clusters, "clusters", 1, "number of managed clusters; with --fleet the default is 0")
	addShapeFlags(cmd, options)
	cmd.Flags().StringArrayVar(&options.Images, "image", nil, "IMAGE=DIRECTORY: root file system of an image; without a tag IMAGE means all its tags (repeatable)")
}

// addShapeFlags adds the flags that up passes on to the supervisor.
func addShapeFlags(cmd *cobra.Command, options *launcher.Options) {
	cmd.Flags().IntVar(&options.Hubs, "hubs", 1,
		"number of hubs; with more than one each managed cluster chooses (OCM's feature gate MultipleHubs)")
	cmd.Flags().IntVar(&options.Hosted, "hosted", 0,
		"number of managed clusters, the last ones, in hosted mode; cluster1 is their hosting cluster")
	cmd.Flags().StringVar(&options.HubAs, "hub-as", "",
		"let the first hub also manage itself, as a managed cluster with this name")
	cmd.Flags().DurationVar(&options.CertificateLife, "certificate-life", 0,
		"life of the certificates that hubs sign (0: a year). With less than 20m OCM's registration agent, which\n"+
			"checks every 5 minutes, may renew them too late")
	cmd.Flags().BoolVar(&options.Audit, "audit", false,
		"log every request to a hub, with its user, verb, object and result, in HUB/logs/audit.log of the sandbox's directory")
	cmd.Flags().Var(options.FeatureGates, "feature-gates",
		"feature gates of OCM's programs, for example registration-agent:ClusterProperty=true (repeatable, or with commas);\n"+
			"those of a fleet have OCM's defaults")
	cmd.Flags().StringArrayVar(&options.HostPaths, "allow-host-path", nil,
		"directory of this machine that pods may mount by hostPath, with all below it (repeatable)")
	addAgentFlags(cmd, &options.Agents)
	addFleetFlags(cmd, &options.Fleet)
}

const statusSyncInterval = "status-sync-interval"

// addAgentFlags adds the settings of OCM's agents, with the defaults of OCM's operator.
func addAgentFlags(cmd *cobra.Command, agents *ocm.Agents) {
	cmd.Flags().StringVar(&agents.AddonAuth, "addon-auth", ocm.AuthCSR,
		"how add-ons get their credentials for the hub: csr (a client certificate) or token (of a ServiceAccount)")
	cmd.Flags().DurationVar(&agents.AddonTokenLife, "addon-token-life", 0,
		"life of the tokens of --addon-auth=token, at least 10m (0: a year). OCM's registration agent renews one when less\n"+
			"than a fifth is left, and checks every 5 minutes: with less than 25m it may be too late")
	cmd.Flags().DurationVar(&agents.StatusSyncInterval, statusSyncInterval, time.Minute,
		"period with which OCM's work agents read the status of applied objects")
}

func downCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the sandbox's processes and remove its files",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return launcher.Down(*options) },
	}
}

func statusCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the clusters, their kubeconfigs and memory, what they are cut off from, and which of their programs are stopped",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return launcher.Report(cmd.Context(), *options) },
	}
}

func buildCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "build [PROGRAM...]",
		Short: "Build all or some of the programs that a sandbox runs",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			_, err := build.Programs(cmd.Context(), build.Options{
				Module: options.Module, Out: options.Programs, Versions: options.Versions, Only: names, Progress: options.Out,
			})
			return err
		},
	}
}
