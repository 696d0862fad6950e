// Command render-chart prints the objects of a Helm chart's templates as `helm install` creates them, in Helm's order. It does not
// print the chart's CRDs, which are plain files, and calls no cluster.
//
//	render-chart -namespace=NAMESPACE -set=NAME=VALUE,... DIRECTORY
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("render-chart", flag.ContinueOnError)
	namespace := flags.String("namespace", "default", "namespace of the release")
	set := flags.String("set", "", "values as helm takes them: NAME=VALUE,...")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("give the directory of one chart")
	}
	return render(flags.Arg(0), *namespace, *set, out)
}

func render(dir, namespace, set string, out io.Writer) error {
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("load the chart %s: %w", dir, err)
	}
	values, err := strvals.Parse(set)
	if err != nil {
		return fmt.Errorf("parse -set=%s: %w", set, err)
	}
	options := chartutil.ReleaseOptions{Name: chart.Name(), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return fmt.Errorf("compute the values of the chart %s: %w", dir, err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return fmt.Errorf("render the chart %s: %w", dir, err)
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return fmt.Errorf("sort the objects of the chart %s: %w", dir, err)
	}
	if len(hooks) > 0 {
		return fmt.Errorf("the chart %s has %d hooks, which only helm runs", dir, len(hooks))
	}
	for _, manifest := range manifests {
		if _, err := fmt.Fprintf(out, "---\n%s\n", manifest.Content); err != nil {
			return fmt.Errorf("print the objects: %w", err)
		}
	}
	return nil
}
