package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

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
		cmd := command(name+" {CLUSTER [HUB] | --share=PERCENT}", short, cobra.MaximumNArgs(2), func(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
			if part != "" {
				return setShare(ctx, s, part, up)
			}
			cluster, hub := args[0], append(args, "hub")[1]
			return linked(cluster, hub, oldURL, up), s.SetLink(ctx, cluster, hub, oldURL, up)
		})
		cmd.Args = func(_ *cobra.Command, args []string) error {
			switch {
			case part != "" && len(args) > 0:
				return errors.New("give a cluster or a --share of the fleet, not both")
			case part == "" && len(args) == 0:
				return errors.New("name a cluster, or with a fleet a --share of it")
			}
			return cobra.MaximumNArgs(2)(cmd, args)
		}
		cmd.Flags().BoolVar(&oldURL, "old-url", false, "only from the hub's first URL, as if the hub had moved (see bootstrap --moved)")
		cmd.Flags().StringVar(&part, "share", "", "a share of the fleet, for example 10%: always its first clusters")
		return cmd
	}
	bootstrap := control.BootstrapOptions{}
	bootstrapCommand := command("bootstrap CLUSTER", "Print a bootstrap kubeconfig for a managed cluster", cobra.ExactArgs(1),
		func(_ context.Context, s *control.Sandbox, args []string) (string, error) {
			bootstrap.Cluster = args[0]
			return encoded(s.Bootstrap(bootstrap))
		})
	bootstrapCommand.Long = bootstrapHelp
	bootstrapCommand.Flags().StringVar(&bootstrap.Hub, "hub", "hub", "the hub to join")
	bootstrapCommand.Flags().BoolVar(&bootstrap.Expired, "expired", false, "with a client certificate that has expired")
	bootstrapCommand.Flags().BoolVar(&bootstrap.Moved, "moved", false, "with the hub's other URL, as if the hub had moved")
	registrationFlags := command("registration-flags CLUSTER [FLAG...]", "Set flags of a managed cluster's registration agent", cobra.MinimumNArgs(1), setRegistrationFlags)
	registrationFlags.Long = registrationFlagsHelp
	registrationFlags.DisableFlagsInUseLine = true
	registrationFlags.Flags().SetInterspersed(false) // what follows CLUSTER belongs to the agent
	return []*cobra.Command{
		bootstrapCommand, registrationFlags,
		link("cut", "Cut a managed cluster off from a hub, like a network that loses every packet", false),
		link("mend", "Connect a managed cluster again that was cut off", true),
		command("rename CLUSTER NAME", "Manage a cluster under another name", cobra.ExactArgs(2),
			func(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
				return fmt.Sprintf("%s renamed to %s\n", args[0], args[1]), s.Rename(ctx, args[0], args[1])
			}),
		command("addon-auth CLUSTER csr|token", "Change how a managed cluster's add-ons get their credentials for the hub", cobra.ExactArgs(2),
			func(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
				return fmt.Sprintf("%s changed: add-ons get their credentials by %s\n", args[0], args[1]), s.SetAddonAuth(ctx, args[0], args[1])
			}),
		command("new-ca HUB", "Replace the certificate of a hub's API server by one of another authority", cobra.ExactArgs(1),
			func(_ context.Context, s *control.Sandbox, args []string) (string, error) {
				return fmt.Sprintf("%s has a certificate of another authority\n", args[0]), s.NewAuthority(args[0])
			}),
		command("snapshot CLUSTER FILE", "Save a cluster's etcd database; etcd stops for a second", cobra.ExactArgs(2), snapshot),
		command("restore CLUSTER FILE", "Restore a cluster's etcd database from a snapshot, as from a backup", cobra.ExactArgs(2), restore),
	}
}

// action is a command's function on a running sandbox. It returns what to print on standard output, which counts only
// without an error.
type action func(ctx context.Context, s *control.Sandbox, args []string) (output string, err error)

// onSandbox returns a command that acts on a running sandbox.
func onSandbox(options *launcher.Options, use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			sandbox, err := control.Open(options.Dir)
			if err != nil {
				return err
			}
			output, err := act(cmd.Context(), sandbox, args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(options.Out, output)
			return err
		},
	}
}

// linked describes a cluster's link to a hub after cut and mend.
func linked(cluster, hub string, oldURL, up bool) string {
	if oldURL {
		hub += "'s first URL"
	}
	if up {
		return fmt.Sprintf("%s connected to %s\n", cluster, hub)
	}
	return fmt.Sprintf("%s cut off from %s\n", cluster, hub)
}

// encoded returns the text of a kubeconfig.
func encoded(config *clientcmdapi.Config, err error) (string, error) {
	if err != nil {
		return "", err
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("encode a kubeconfig: %w", err)
	}
	return string(content), nil
}

func setRegistrationFlags(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
	cluster, flags := args[0], args[1:]
	with := "without further flags"
	if len(flags) > 0 {
		with = "with " + strings.Join(flags, " ")
	}
	return fmt.Sprintf("%s/registration-agent restarted %s\n", cluster, with), s.SetRegistrationFlags(ctx, cluster, flags...)
}

func snapshot(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
	return fmt.Sprintf("%s saved in %s\n", args[0], args[1]), s.Snapshot(ctx, args[0], args[1])
}

func restore(ctx context.Context, s *control.Sandbox, args []string) (string, error) {
	return fmt.Sprintf("%s restored from %s\n", args[0], args[1]), s.Restore(ctx, args[0], args[1])
}
