// Package commandline creates the commands of the programs on a hub: with a clear message
// for each mistake, the version, and the logs set up before the program runs. The caller
// defines the flags and the program.
package commandline

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
)

// Program describes a program for its help.
type Program struct {
	Name, Short, Long string
	// Logging is set up before the program runs.
	Logging *logsapi.LoggingConfiguration
}

// Options are a program's flags.
type Options interface {
	AddFlags(flags *pflag.FlagSet)
	// Validate returns every problem, each with what to do.
	Validate() error
}

// New returns the command of a program. The caller prints its errors.
func New(program Program, opts Options, run func(context.Context) error) *cobra.Command {
	info := version.Get()
	command := &cobra.Command{
		Use:     program.Name,
		Short:   program.Short,
		Long:    program.Long,
		Version: fmt.Sprintf("%s (commit %s)", info.GitVersion, info.GitCommit),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected arguments %q: the program takes only flags, see %s --help", args, program.Name)
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(program.Logging, nil); err != nil {
				return fmt.Errorf("set up logging: %w", err)
			}
			return run(command.Context())
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, program.Name)
	})
	opts.AddFlags(command.Flags())
	return command
}

// CheckRequests returns the problems with the limits of a program's requests.
func CheckRequests(qps float32, burst int) []error {
	var errs []error
	// Not qps <= 0, which accepts NaN.
	if !(qps > 0) {
		errs = append(errs, fmt.Errorf("--kube-api-qps=%g must be above 0", qps))
	}
	if burst < 1 {
		errs = append(errs, fmt.Errorf("--kube-api-burst=%d must be 1 or more", burst))
	}
	return errs
}

// CheckLogging returns the problems with the logging flags.
func CheckLogging(logging *logsapi.LoggingConfiguration) []error {
	var errs []error
	for _, err := range logsapi.Validate(logging, nil, field.NewPath("logging")) {
		errs = append(errs, err)
	}
	return errs
}
