// Package kubectl is the kubectl plugin "kubectl helloworld": what a person asks about the add-on on
// all clusters of a hub, before and after a change, and how a rollout is controlled from a terminal.
//
// It uses the caller's kubeconfig and rights, and installs nothing. Each command has a package of its
// own below this one, with the decisions as pure functions apart from the requests.
package kubectl

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/ui"
)

// NewCommand returns the plugin's command line. kubectl runs it as "kubectl helloworld".
// https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	config := genericclioptions.NewConfigFlags(true)
	command := &cobra.Command{
		Use:           "kubectl-helloworld",
		Short:         "See the helloworld add-on on all clusters, and control rollouts",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl helloworld"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.SetIn(streams.In)
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	config.AddFlags(command.PersistentFlags())
	command.AddCommand(status.NewCommand(config, streams), doctor.NewCommand(config, streams), ui.NewCommand(config, streams), newVersion())
	command.AddCommand(diff.NewCommand(config, streams), rollout.NewCommand(config))
	return command
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the plugin's version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(command.OutOrStdout(), version.Get().GitVersion)
			return err
		},
	}
}
