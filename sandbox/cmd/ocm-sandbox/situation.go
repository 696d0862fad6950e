package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

const bootstrapHelp = `Print a kubeconfig with which a managed cluster can join a hub. It belongs into the Secret
bootstrap-hub-kubeconfig on the managed cluster (in hosted mode: on cluster1, in the namespace
klusterlet-CLUSTER). OCM's registration agent exits when that changes, and is restarted:

  ocm-sandbox bootstrap cluster1 --expired |
    kubectl create secret generic bootstrap-hub-kubeconfig -n open-cluster-management-agent \
      --from-file=kubeconfig=/dev/stdin --dry-run=client -o yaml | kubectl --context=cluster1 apply -f -

The cluster's credentials for the hub are in the Secret hub-kubeconfig-secret beside it. To make a
cluster forget its hub, delete that Secret and restart the agent (restart
CLUSTER/registration-agent).`

const registrationFlagsHelp = `Restart a managed cluster's registration agent with these flags after those of the sandbox. They
replace the ones of the last call; without a flag there are none. The agent's own --help lists its
flags (registration agent --help, after eval "$(ocm-sandbox env)"). For example:

  ocm-sandbox registration-flags cluster1 --client-cert-expiration-seconds=3600`

// situationCommands returns the commands that bring the clusters of a running sandbox into
// situations of real clusters.
func situationCommands(options *launcher.Options) []*cobra.Command {
	command := func(use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
		return onSandbox(options, use, short, args, act)
	}
	link := func(name, short string, up bool) *cobra.Command {
		oldURL, part := false, ""
		cmd := command(name+" {CLUSTER [HUB] | --share=PERCENT}", short, cobra.MaximumNArgs(2), func(ctx context.Context, s *control.Sandbox, args []string) error {
			if part != "" {
				return setShare(ctx, options, s, args, part, up)
			}
			if len(args) == 0 {
				return errors.New("name a cluster, or with a fleet a --share of it")
			}
			return s.SetLink(ctx, args[0], append(args, "hub")[1], oldURL, up)
		})
		cmd.Flags().BoolVar(&oldURL, "old-url", false, "only from the hub's first URL, as if the hub had moved (see bootstrap --moved)")
		cmd.Flags().StringVar(&part, "share", "", "a share of the fleet, for example 10%: always its first clusters")
		return cmd
	}
	bootstrap := control.BootstrapOptions{}
	bootstrapCommand := command("bootstrap CLUSTER", "Print a bootstrap kubeconfig for a managed cluster", cobra.ExactArgs(1),
		func(_ context.Context, s *control.Sandbox, args []string) error {
			bootstrap.Cluster = args[0]
			config, err := s.Bootstrap(bootstrap)
			if err != nil {
				return err
			}
			content, err := clientcmd.Write(*config)
			if err != nil {
				return fmt.Errorf("encode a kubeconfig: %w", err)
			}
			_, err = os.Stdout.Write(content)
			return err
		})
	bootstrapCommand.Long = bootstrapHelp
	bootstrapCommand.Flags().StringVar(&bootstrap.Hub, "hub", "hub", "the hub to join")
	bootstrapCommand.Flags().BoolVar(&bootstrap.Expired, "expired", false, "with a client certificate that has expired")
	bootstrapCommand.Flags().BoolVar(&bootstrap.Moved, "moved", false, "with the hub's other URL, as if the hub had moved")
	registrationFlags := command("registration-flags CLUSTER [FLAG...]", "Set flags of a managed cluster's registration agent", cobra.MinimumNArgs(1), setRegistrationFlags)
	registrationFlags.Long = registrationFlagsHelp
	registrationFlags.Flags().SetInterspersed(false) // what follows CLUSTER belongs to the agent
	return []*cobra.Command{
		bootstrapCommand, registrationFlags,
		link("cut", "Cut a managed cluster off from a hub, like a network that loses every packet", false),
		link("mend", "Connect a managed cluster again that was cut off", true),
		command("rename CLUSTER NAME", "Manage a cluster under another name", cobra.ExactArgs(2),
			func(ctx context.Context, s *control.Sandbox, args []string) error {
				return s.Rename(ctx, args[0], args[1])
			}),
		command("addon-auth CLUSTER csr|token", "Change how a managed cluster's add-ons get their credentials for the hub", cobra.ExactArgs(2),
			func(ctx context.Context, s *control.Sandbox, args []string) error {
				return s.SetAddonAuth(ctx, args[0], args[1])
			}),
		command("new-ca HUB", "Replace the certificate of a hub's API server by one of another authority", cobra.ExactArgs(1),
			func(_ context.Context, s *control.Sandbox, args []string) error { return s.NewAuthority(args[0]) }),
		command("snapshot CLUSTER FILE", "Save a cluster's etcd database; etcd stops for a second", cobra.ExactArgs(2), snapshot),
		command("restore CLUSTER FILE", "Restore a cluster's etcd database from a snapshot, as from a backup", cobra.ExactArgs(2), restore),
	}
}

// action is a command's function on a running sandbox.
type action func(ctx context.Context, s *control.Sandbox, args []string) error

// onSandbox returns a command that acts on a running sandbox.
func onSandbox(options *launcher.Options, use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			sandbox, err := control.Open(options.Dir)
			if err != nil {
				return err
			}
			return act(cmd.Context(), sandbox, args)
		},
	}
}

func setRegistrationFlags(ctx context.Context, s *control.Sandbox, args []string) error {
	return s.SetRegistrationFlags(ctx, args[0], args[1:]...)
}

func snapshot(ctx context.Context, s *control.Sandbox, args []string) error {
	return s.Snapshot(ctx, args[0], args[1])
}

func restore(ctx context.Context, s *control.Sandbox, args []string) error {
	return s.Restore(ctx, args[0], args[1])
}
