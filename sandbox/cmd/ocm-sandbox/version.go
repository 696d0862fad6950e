package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

func versionCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of ocm-sandbox, and those of OCM and Kubernetes that it runs",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			programs, err := build.Describe(build.Options{Module: options.Module, Out: options.Programs, Versions: options.Versions})
			if err != nil {
				return err
			}
			own := "ocm-sandbox " + cmp.Or(build.Version(), "(built from local files)")
			_, err = fmt.Fprintln(options.Out, strings.Join(append([]string{own}, programs...), "\n"))
			return err
		},
	}
}
