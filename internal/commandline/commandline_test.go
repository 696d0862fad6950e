package commandline

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// options have one flag, which must not be wrong.
type options struct{ flag string }

func (o *options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.flag, "flag", "default", "a flag")
}

func (o *options) Validate() error {
	if o.flag == "wrong" {
		return errors.New("--flag=wrong is wrong")
	}
	return nil
}

// TestNew: what a user gets of each command line, and whether the program ran.
func TestNew(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []string
		format string
		ran    bool
		want   string
	}{
		{"right", []string{"--flag=right"}, "text", true, ""},
		{"a program that fails", []string{"--flag=fail"}, "text", true, "failed"},
		{"an argument", []string{"right"}, "text", false, `unexpected arguments ["right"]: the program takes only flags, see program --help`},
		{"an unknown flag", []string{"--no-such-flag"}, "text", false, "unknown flag: --no-such-flag: see program --help"},
		{"a wrong value", []string{"--flag=wrong"}, "text", false, "--flag=wrong is wrong"},
		{"logs that cannot be set up", nil, "xml", false, `set up logging: format: Invalid value: "xml": Unsupported log format`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := logsapi.ResetForTest(nil); err != nil {
				t.Fatal(err)
			}
			opts, logging, ran := &options{}, logsapi.NewLoggingConfiguration(), false
			logging.Format = test.format
			command := New(Program{Name: "program", Short: "A program", Logging: logging}, opts, func(context.Context) error {
				ran = true
				if opts.flag == "fail" {
					return errors.New("failed")
				}
				return nil
			})
			var output bytes.Buffer
			command.SetOut(&output)
			command.SetErr(&output)
			command.SetArgs(test.args)
			got := ""
			if err := command.ExecuteContext(t.Context()); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || ran != test.ran {
				t.Errorf("ran: %t, error (-want +got):\n%s", ran, diff)
			}
			if output.Len() > 0 {
				t.Errorf("it prints besides its error: %s", output.String())
			}
		})
	}
}

func TestVersion(t *testing.T) {
	command := New(Program{Name: "program", Logging: logsapi.NewLoggingConfiguration()}, &options{}, nil)
	var output bytes.Buffer
	command.SetOut(&output)
	command.SetArgs([]string{"--version"})
	if err := command.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(output.String(), "program version v") ||
		!strings.Contains(output.String(), "(commit ") {
		t.Errorf("%q, %v", output.String(), err)
	}
}
