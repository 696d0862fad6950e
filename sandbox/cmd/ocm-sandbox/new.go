package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/template"
)

const newHelp = `Write a small, complete add-on into a new directory of its name: a controller by addon-framework, an
agent, the manifests, a test on a hub and two clusters, and a workflow for GitHub. For example:

  ocm-sandbox new my-addon && cd my-addon && go test -timeout 30m ./...

The first test on a machine builds etcd, Kubernetes and OCM, for about 10 minutes; later ones take
about 20 s. The add-on's README.md tells what to change.`

// tidyTimeout limits the download of the add-on's modules.
const tidyTimeout = 10 * time.Minute

// unreleased is a version for a module that is replaced by a directory.
const unreleased = "v0.0.0"

func newCommand(options *launcher.Options) *cobra.Command {
	replace := ""
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a small add-on with a test, to begin a repository",
		Long:  newHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			addon, err := addonOptions(args[0], build.Version(), replace)
			if err != nil {
				return err
			}
			err = template.Write(addon.Name, addon)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists: choose another name, or another directory to call ocm-sandbox in", addon.Name)
			}
			if err != nil {
				return err
			}
			if err := tidy(cmd.Context(), addon.Name); err != nil {
				return errors.Join(fmt.Errorf("download the add-on's modules: %w", err), os.RemoveAll(addon.Name))
			}
			_, err = fmt.Fprintf(options.Out, "the add-on is in %[1]s: cd %[1]s && go test -timeout 30m ./...\n", addon.Name)
			return err
		},
	}
	cmd.Flags().StringVar(&replace, "replace", "",
		"directory sandbox of a clone, which the add-on's test uses instead of a published version")
	return cmd
}

// addonOptions returns the options of an add-on. version is that of this program, empty if unknown.
func addonOptions(name, version, replace string) (template.Options, error) {
	options := template.Options{Name: name, Version: version}
	problems := []error{options.Validate()}
	if replace != "" {
		absolute, err := filepath.Abs(replace)
		if err == nil {
			_, err = os.Stat(filepath.Join(absolute, "sandboxtest"))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("--replace=%s: name the directory sandbox of a clone: %w", replace, err))
		}
		options.Version, options.Replace = unreleased, absolute
	} else if version == "" {
		problems = append(problems, errors.New("this ocm-sandbox was built from local files, so the version that the add-on needs is unknown: "+
			"give --replace with the directory sandbox of these files"))
	}
	return options, errors.Join(problems...)
}

// tidy completes the add-on's go.mod and writes its go.sum.
func tidy(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod tidy: %w\n%s", err, explainTidy(string(out)))
	}
	return nil
}

// maxTidyLines is the number of lines of go mod tidy in an error: it may print one for each import of each module.
const maxTidyLines = 5

// explainTidy returns the first lines of what go mod tidy has printed about its failure, and what to do when that is the
// sandbox's own module.
func explainTidy(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		progress := strings.HasPrefix(line, "go: downloading ") || strings.HasPrefix(line, "go: finding ")
		if !progress && len(lines) < maxTidyLines {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	if strings.Contains(output, template.ModulePath+"@") {
		lines = append(lines, "this version of ocm-sandbox may not be published: give --replace=CLONE/sandbox, the directory of its sources")
	}
	return strings.Join(lines, "\n")
}
