package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

func newHistory(o options) *cobra.Command {
	var revision, output string
	command := o.subcommand("history", "List the kept revisions of a set, or show one",
		func(ctx context.Context, s *session, name string) error {
			return s.showHistory(ctx, name, revision, output)
		})
	command.Flags().StringVar(&revision, "revision", "", "show this revision: its number or hash")
	command.Flags().StringVarP(&output, "output", "o", "", "print ControllerRevisions: json or yaml")
	return command
}

func (s *session) showHistory(ctx context.Context, name, which, output string) error {
	var printer printers.ResourcePrinter
	switch output {
	case "":
	case "json":
		printer = &printers.JSONPrinter{}
	case "yaml":
		printer = &printers.YAMLPrinter{}
	default:
		return fmt.Errorf("--output=%s: want json or yaml", output)
	}
	set, err := s.set(ctx, name)
	if err != nil {
		return err
	}
	history, err := s.history(ctx, set)
	if err != nil {
		return err
	}
	shown := history
	if which != "" {
		one, err := plan.Find(name, history, which)
		if err != nil {
			return err
		}
		shown = []plan.Revision{one}
	}
	switch {
	case printer != nil:
		return s.print(printer, shown, which != "")
	case which != "":
		_, err = fmt.Fprint(s.out, plan.Describe(name, shown[0]))
		return err
	case len(history) == 0:
		_, err = fmt.Fprintf(s.err, "No revision of %s is stored.\n", plan.Named(name))
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n%s", reference(name), plan.Table(history))
	return err
}

// print prints the stored revisions: one, or a list.
func (s *session) print(printer printers.ResourcePrinter, revisions []plan.Revision, one bool) error {
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, revision := range revisions {
		revision.Object.ManagedFields = nil
		if one {
			return printer.PrintObj(revision.Object, s.out)
		}
		list.Items = append(list.Items, runtime.RawExtension{Object: revision.Object})
	}
	return printer.PrintObj(list, s.out)
}
