package main

import (
	"strings"
	"testing"
)

func TestDirIsThatOfTheEnvironment(t *testing.T) {
	for _, test := range []struct{ name, environment, want string }{
		{"nothing is set", "", ".sandbox"},
		{"SANDBOX_DIR is", "/tmp/elsewhere", "/tmp/elsewhere"},
	} {
		t.Setenv("SANDBOX_DIR", test.environment)
		if got := command().PersistentFlags().Lookup("dir").DefValue; got != test.want {
			t.Errorf("%s: --dir is %q by default, want %q", test.name, got, test.want)
		}
	}
}

// TestFlagsOfTheRegistrationAgent checks that the agent's flags are not read as ocm-sandbox's.
func TestFlagsOfTheRegistrationAgent(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		args []string
	}{
		{"--dir before the command", []string{"--dir=" + dir, "registration-flags", "cluster1", "--unknown=1"}},
		{"--dir before the cluster", []string{"registration-flags", "--dir", dir, "cluster1", "--unknown=1"}},
	} {
		cmd := command()
		cmd.SetArgs(test.args)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "no sandbox in "+dir) {
			t.Errorf("%s: %v, want that there is no sandbox in %s", test.name, err, dir)
		}
	}
}
