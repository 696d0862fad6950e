package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

// NewCommand returns the command "rollout". config names the hub and the namespace.
func NewCommand(config genericclioptions.RESTClientGetter) *cobra.Command {
	return newCommand(options{config: config, clock: clock.RealClock{}, lookAgain: lookAgain})
}

func newCommand(o options) *cobra.Command {
	command := &cobra.Command{
		Use:   "rollout",
		Short: "Show and control the rollout of a ConfigMapReplicaSet",
		Long: "Show and control the rollout of a ConfigMapReplicaSet, as kubectl rollout does for a Deployment.\n" +
			"NAME is that of a set in the namespace, also as cmrs/NAME or configmapreplicaset/NAME.",
		// Otherwise cobra answers an unknown command with the help, and success.
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newStatus(o), newHistory(o), newPause(o), newResume(o), newUndo(o))
	return command
}

// options are what all commands have.
type options struct {
	config genericclioptions.RESTClientGetter
	clock  clock.Clock
	// lookAgain is how long nothing may change before the objects are read again.
	lookAgain time.Duration
}

// subcommand returns a command about one set.
func (o options) subcommand(use, short string, run func(ctx context.Context, s *session, name string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one NAME of a ConfigMapReplicaSet, got %d: %s", len(args), strings.Join(args, " "))
			}
			_, err := setName(args[0])
			return err
		},
		RunE: func(command *cobra.Command, args []string) error {
			name, err := setName(args[0])
			if err != nil {
				return err
			}
			s, err := newSession(o, command)
			if err != nil {
				return err
			}
			return run(command.Context(), s, name)
		},
	}
}

// kinds are the names of the kind that kubectl accepts before a slash.
var kinds = []string{"cmrs", "configmapreplicaset", "configmapreplicasets"}

// setName returns the name of the set that an argument names.
func setName(arg string) (string, error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found {
		kind, name = kinds[0], arg
	}
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	if !slices.Contains(kinds, kind) || group != "" && !strings.HasSuffix("v1alpha1."+groupName, group) || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q does not name a ConfigMapReplicaSet: want NAME, cmrs/NAME or configmapreplicaset/NAME", arg)
	}
	return name, nil
}

func newPause(o options) *cobra.Command {
	return o.subcommand("pause", "Hold a rollout: no further cluster gets another revision",
		func(ctx context.Context, s *session, name string) error { return s.setPaused(ctx, name, true) })
}

func newResume(o options) *cobra.Command {
	return o.subcommand("resume", "Continue a paused rollout",
		func(ctx context.Context, s *session, name string) error { return s.setPaused(ctx, name, false) })
}

// setPaused pauses or resumes a set that is not so yet.
func (s *session) setPaused(ctx context.Context, name string, paused bool) error {
	set, err := s.set(ctx, name)
	if err != nil {
		return err
	}
	if set.Spec.Paused == paused {
		state := "is not paused"
		if paused {
			state = "is already paused"
		}
		return fmt.Errorf("%s.%s %q %s", resource, groupName, name, state)
	}
	if err := s.patch(ctx, set, "", map[string]any{"paused": paused}); err != nil {
		return err
	}
	done := "resumed"
	if paused {
		done = "paused"
	}
	fmt.Fprintf(s.out, "%s %s\n", reference(name), done)
	return nil
}

// reference returns how kubectl names the set it has changed.
func reference(name string) string { return plan.Kind + "." + groupName + "/" + name }
