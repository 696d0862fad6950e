// Package diff is the command "kubectl helloworld diff": what applying ConfigMaps and ConfigMapReplicaSets would change on which
// cluster. Package plan decides; this one reads files and the hub, and prints.
//
// It writes nothing. What the API server makes of an object, it asks by a dry run of the request of kubectl apply.
package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cliresource "k8s.io/cli-runtime/pkg/resource"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// Options are the command line.
type Options struct {
	Files cliresource.FilenameOptions
	// Clusters are the names of clusters, Selector is a label selector for ManagedClusters. Without them all are shown.
	Clusters []string
	Selector string
	// Output is the format: empty, wide, json or yaml.
	Output string
	// ServerSide, ForceConflicts and FieldManager are those of kubectl apply.
	ServerSide, ForceConflicts bool
	FieldManager               string
}

// Validate returns all problems of the command line.
func (o Options) Validate() error {
	var errs []error
	if len(o.Files.Filenames) == 0 && o.Files.Kustomize == "" {
		errs = append(errs, errors.New("name the files by -f, or a kustomization by -k"))
	}
	if err := terminal.CheckOutput(o.Output, byDefault, formats); err != nil {
		errs = append(errs, err)
	}
	if _, err := labels.Parse(o.Selector); err != nil {
		errs = append(errs, fmt.Errorf("--selector=%s: %w", o.Selector, err))
	}
	if len(o.Clusters) > 0 && o.Selector != "" {
		errs = append(errs, errors.New("name clusters, or select them by --selector, not both"))
	}
	for _, name := range o.Clusters {
		if err := plan.CheckName(name); err != nil {
			errs = append(errs, fmt.Errorf("CLUSTER: %w", err))
		}
	}
	if o.ForceConflicts && !o.ServerSide {
		errs = append(errs, errors.New("--force-conflicts needs --server-side, as with kubectl apply"))
	}
	return errors.Join(errs...)
}

const example = `  # what applying a file would change on which cluster
  kubectl helloworld diff -f settings.yaml

  # the output of another program
  helm template config | kubectl helloworld diff -n team-a -f -

  # a kustomization, on the clusters of a region
  kubectl helloworld diff -k overlays/prod -l region=eu

  # for a program; exit code 1 means that something would change
  kubectl helloworld diff -f settings.yaml -o json`

// NewCommand returns the command.
func NewCommand(config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	return newCommand(config, streams, clock.RealClock{})
}

func newCommand(config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	options := Options{}
	kustomize, recursive := "", false
	files := genericclioptions.FileNameFlags{Usage: "files, directories or URLs with what would be applied; - is the standard input",
		Filenames: &[]string{}, Kustomize: &kustomize, Recursive: &recursive}
	command := &cobra.Command{
		Use:     "diff -f FILE [CLUSTER...]",
		Short:   "Show what applying ConfigMaps would change on which cluster",
		Example: example,
		Long: "Show what applying ConfigMaps and ConfigMapReplicaSets would change on which cluster, as a unified diff of the copies.\n" +
			"Clusters with the same change are shown once. It also prints what keeps a change from a cluster. Nothing is written.\n\n" +
			"Exit code 0: nothing would change; 1: something would; 2: the answer is missing or incomplete.",
		ValidArgsFunction: status.CompleteClusters(config),
		RunE: func(command *cobra.Command, args []string) error {
			options.Files, options.Clusters = files.ToOptions(), args
			return terminal.Unanswered(printable(run(command.Context(), options, config, streams, clock)))
		},
	}
	flags := command.Flags()
	files.AddFlags(flags)
	flags.StringVarP(&options.Selector, "selector", "l", "", "label selector for ManagedClusters, for example region=eu: only these clusters")
	flags.BoolVar(&options.ServerSide, "server-side", false, "show what kubectl apply --server-side would change")
	flags.BoolVar(&options.ForceConflicts, "force-conflicts", false, "with --server-side: as that of kubectl apply")
	flags.StringVar(&options.FieldManager, "field-manager", "", "as that of kubectl apply")
	terminal.AddOutput(command, &options.Output, byDefault, formats)
	terminal.UnansweredFlags(command)
	return command
}

// printable returns an error whose text does not control a terminal: it may quote a file, or what the API server says of it.
func printable(err error) error {
	if err == nil || errors.Is(err, terminal.ErrDiffers) {
		return err
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, strings.TrimRight(terminal.Printable(line), " "))
	}
	return errors.New(strings.Join(lines, "\n"))
}

func run(ctx context.Context, o Options, config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, clock clock.PassiveClock) error {
	if err := o.Validate(); err != nil {
		return err
	}
	namespace, enforced, err := config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	objects, err := readFiles(o.Files, streams.In)
	if err != nil {
		return err
	}
	file, err := plan.NewFile(objects, namespace, enforced)
	if err != nil {
		return err
	}
	restConfig, err := config.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := listing.New(restConfig)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return err
	}
	g := &gatherer{hub: &hub{client}, file: file, writes: writes{serverSide: o.ServerSide, force: o.ForceConflicts, manager: o.FieldManager}}
	facts, err := g.gather(ctx, plan.Chosen{Names: o.Clusters, Selector: selector}, clock.Now())
	if err != nil {
		return err
	}
	report := plan.New(facts)
	g.warn(streams.ErrOut, report)
	if err := show(report, o.Output, streams.Out, terminal.HasColors(streams.Out, os.LookupEnv)); err != nil {
		return err
	}
	return verdict(report)
}

// readFiles returns the objects of the files, as kubectl reads them, without asking the hub.
func readFiles(files cliresource.FilenameOptions, in io.Reader) ([]*unstructured.Unstructured, error) {
	builder := cliresource.NewLocalBuilder().Unstructured().ContinueOnError()
	number := len(files.Filenames)
	files.Filenames = slices.DeleteFunc(slices.Clone(files.Filenames), func(name string) bool { return name == "-" })
	switch number -= len(files.Filenames); {
	case number > 1:
		return nil, errors.New("-f - is there twice")
	case number == 1:
		builder = builder.Stream(in, "the standard input")
	}
	if len(files.Filenames) > 0 || files.Kustomize != "" {
		builder = builder.FilenameParam(false, &files)
	}
	infos, err := builder.Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("read the files: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, info := range infos {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// verdict returns the error for the exit code.
func verdict(r *plan.Report) error {
	switch {
	case !r.Complete:
		return errors.New("the answer is not complete: see what is marked as Incomplete")
	case r.Changes:
		return terminal.ErrDiffers
	}
	return nil
}
