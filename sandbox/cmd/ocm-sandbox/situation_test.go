package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

// supervised returns the directory of a sandbox with a hub and cluster1, where a goroutine does what the supervisor does:
// it runs the agents of cluster1 unless they are stopped, and acknowledges cuts.
func supervised(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	record := `{"kind":"open-cluster-management-sandbox","clusters":["hub","cluster1"],"hubs":1}`
	if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"hub", "cluster1"} {
		options := controlplane.Options{Name: name, Dir: filepath.Join(dir, name), Index: i, Address: controlplane.Address(i).String()}
		if _, err := controlplane.New(options); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, name, "programs"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// there is the file followed of the file leader, or of its absence
	follow := func(leader, followed string, absence bool) {
		if _, err := os.Stat(leader); (err == nil) != absence {
			_ = os.WriteFile(followed, nil, 0o600)
		} else {
			_ = os.Remove(followed)
		}
	}
	turn := func() {
		for _, moved := range []bool{false, true} {
			file := control.CutFile(filepath.Join(dir, "cluster1"), "hub", moved)
			follow(file, control.CutDone(file), false)
		}
		for _, agent := range []string{"registration-agent", "work-agent"} {
			base := filepath.Join(dir, "cluster1", "programs", agent)
			follow(base+".stopped", base+".running", true)
			follow(base+".never", base+".kept", true)
		}
	}
	turn()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			turn()
			time.Sleep(time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return dir
}

// TestCommandsTellWhatTheyDid checks the line that each command prints on a running sandbox.
func TestCommandsTellWhatTheyDid(t *testing.T) {
	var out bytes.Buffer
	options := &launcher.Options{Dir: supervised(t), Out: &out}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"cut", "cluster1"}, "cluster1 cut off from hub\n"},
		{[]string{"mend", "cluster1"}, "cluster1 connected to hub\n"},
		{[]string{"cut", "cluster1", "hub", "--old-url"}, "cluster1 cut off from hub's first URL\n"},
		{[]string{"mend", "cluster1", "--old-url"}, "cluster1 connected to hub's first URL\n"},
		{[]string{"stop", "cluster1/work-agent", "cluster1/registration-agent"}, "cluster1/work-agent stopped\ncluster1/registration-agent stopped\n"},
		{[]string{"start", "cluster1/work-agent"}, "cluster1/work-agent started\n"},
		{[]string{"restart", "cluster1/work-agent"}, "cluster1/work-agent restarted\n"},
		{[]string{"rename", "cluster1", "other"}, "cluster1 renamed to other\n"},
		{[]string{"addon-auth", "cluster1", "token"}, "cluster1 changed: add-ons get their credentials by token\n"},
		{[]string{"registration-flags", "cluster1", "--v=4", "--x"}, "cluster1/registration-agent restarted with --v=4 --x\n"},
		{[]string{"registration-flags", "cluster1"}, "cluster1/registration-agent restarted without further flags\n"},
		{[]string{"new-ca", "hub"}, "hub has a certificate of another authority\n"},
		{[]string{"new-ca", "hub"}, ""}, // fails, there is no further one
	} {
		out.Reset()
		commands := slices.Concat(situationCommands(options), switchCommands(options)) // new ones, without the flags of the last call
		i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == test.args[0] })
		cmd := commands[i]
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args[1:])
		if err := cmd.Execute(); (err == nil) != (test.want != "") {
			t.Errorf("%q: %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}
