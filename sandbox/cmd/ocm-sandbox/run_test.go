package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

// TestStatusSyncInterval checks the defaults of commands that share the options.
func TestStatusSyncInterval(t *testing.T) {
	for _, test := range []struct {
		name, command string
		args          []string
		want          time.Duration
	}{
		{"up: as OCM", "up", nil, time.Minute},
		{"run: for tests", "run", []string{"true"}, 5 * time.Second},
		{"what the user sets", "run", []string{"--status-sync-interval=1m", "true"}, time.Minute},
	} {
		options := &launcher.Options{}
		commands := map[string]*cobra.Command{"up": upCommand(options), "run": runCommand(options), "supervise": superviseCommand(options)}
		cmd := commands[test.command]
		cmd.RunE = func(*cobra.Command, []string) error { return nil }
		cmd.SetArgs(test.args)
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if got := options.Agents.StatusSyncInterval; got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if usage := runCommand(&launcher.Options{}).UsageString(); !strings.Contains(usage, "(default 5s)") {
		t.Errorf("the usage of run does not tell its default:\n%s", usage)
	}
}
