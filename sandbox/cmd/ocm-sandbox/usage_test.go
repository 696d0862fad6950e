package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestUsageErrors checks that an error about arguments or flags tells how the command is called.
func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument is missing", []string{"collect"},
			"accepts 1 arg(s), received 0\nusage: ocm-sandbox collect DIRECTORY [flags]\nsee ocm-sandbox collect --help"},
		{"one too many", []string{"status", "x"}, "unknown command \"x\" for \"ocm-sandbox status\"\nusage: ocm-sandbox status [flags]\nsee ocm-sandbox status --help"},
		{"a command below another one", []string{"image", "pull"},
			"accepts 1 arg(s), received 0\nusage: ocm-sandbox image pull IMAGE [flags]\nsee ocm-sandbox image pull --help"},
		{"an unknown flag", []string{"reload", "--now"}, "unknown flag: --now\nusage: ocm-sandbox reload IMAGE [flags]\nsee ocm-sandbox reload --help"},
		{"a command with flags of its own in the usage", []string{"run"},
			"requires at least 1 arg(s), only received 0\nusage: ocm-sandbox run [FLAGS] -- COMMAND [ARGUMENT...]\nsee ocm-sandbox run --help"},
		{"neither a cluster nor a share", []string{"cut"},
			"name a cluster, or with a fleet a --share of it\nusage: ocm-sandbox cut {CLUSTER [HUB] | --share=PERCENT} [flags]\nsee ocm-sandbox cut --help"},
		{"both", []string{"mend", "fleet-0001", "--share=10%"},
			"give a cluster or a --share of the fleet, not both\nusage: ocm-sandbox mend {CLUSTER [HUB] | --share=PERCENT} [flags]\nsee ocm-sandbox mend --help"},
		{"an unknown command", []string{"stauts"},
			"unknown command \"stauts\" for \"ocm-sandbox\": did you mean start or status?\nusage: ocm-sandbox COMMAND\nsee ocm-sandbox --help"},
		{"with flags", []string{"upp", "--clusters=2"},
			"unknown command \"upp\" for \"ocm-sandbox\": did you mean up?\nusage: ocm-sandbox COMMAND\nsee ocm-sandbox --help"},
		{"similar to none", []string{"xxxxxxxx"}, "unknown command \"xxxxxxxx\" for \"ocm-sandbox\"\nusage: ocm-sandbox COMMAND\nsee ocm-sandbox --help"},
		{"a flag that no command has", []string{"--bogus"}, "unknown flag: --bogus\nusage: ocm-sandbox COMMAND\nsee ocm-sandbox --help"},
		{"an unknown command of a group", []string{"fleet", "jion", "5"},
			"unknown command \"jion\" for \"ocm-sandbox fleet\": did you mean join?\nusage: ocm-sandbox fleet COMMAND\nsee ocm-sandbox fleet --help"},
		{"an unknown command below one that takes an argument", []string{"image", "lod", "app.tar"},
			"accepts 1 arg(s), received 2: did you mean go or load or ls?\nusage: ocm-sandbox image IMAGE=DIRECTORY [flags]\nsee ocm-sandbox image --help"},
		{"alone", []string{"image", "lss"},
			"\"lss\" is not IMAGE=DIRECTORY: did you mean ls?\nusage: ocm-sandbox image IMAGE=DIRECTORY [flags]\nsee ocm-sandbox image --help"},
	} {
		cmd := command()
		cmd.SetArgs(test.args)
		err := cmd.Execute()
		if err == nil {
			err = errors.New("no error")
		}
		if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestEveryCommandExplainsItsUsage checks that every command has Args, and that the errors of these have the usage.
func TestEveryCommandExplainsItsUsage(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Args == nil {
			t.Fatalf("%s does not check its arguments: set Args, for example cobra.ArbitraryArgs", cmd.CommandPath())
		}
		for _, args := range [][]string{nil, strings.Split(strings.Repeat("x", 10), "")} {
			if err := cmd.Args(cmd, args); err != nil && !strings.Contains(err.Error(), "\nusage: "+cmd.CommandPath()) {
				t.Errorf("%s %q: %v", cmd.CommandPath(), args, err)
			}
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(command())
}
