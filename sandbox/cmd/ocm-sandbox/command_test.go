package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
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

// TestImage checks that the command image still takes a mapping beside its command ls.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"a mapping", []string{"app:v1=" + dir}, "no sandbox in " + dir},
		{"no mapping", []string{"app:v1"}, "is not IMAGE=DIRECTORY"},
		{"the list", []string{"ls"}, "no sandbox in " + dir},
		{"a list of one", []string{"ls", "app:v1"}, "unknown command"},
		{"an archive", []string{"load", "file.tar"}, "no sandbox in " + dir},
		{"no archive", []string{"load"}, "accepts between 1 and 2 arg(s)"},
		{"a Go program", []string{"go", "app:v1", "./cmd/app", "--reload", "--", "-race"}, "no sandbox in " + dir},
		{"flags of go build in the wrong place", []string{"go", "app:v1", "--", "./cmd/app"}, "give an image's name and a Go package"},
		{"a Go program with a bad name", []string{"go", "My App", "./cmd/app"}, "is not an image's name"},
		{"a pull", []string{"pull", "app:v1"}, "no sandbox in " + dir},
	} {
		cmd := command()
		cmd.SetArgs(append([]string{"--dir=" + dir, "image"}, test.args...))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestReloaded(t *testing.T) {
	for _, test := range []struct {
		name   string
		count  int
		failed bool
		want   string
	}{
		{"restarted", 2, false, "app:v1: 2 pods restarted\n"},
		{"one", 1, false, "app:v1: 1 pod restarted\n"},
		{"in no pod", 0, false, "app:v1: no pod uses this image, so none was restarted\n"},
		{"not ready again", 2, true, "app:v1: 2 pods deleted\n"},
		{"not known", 0, true, ""},
	} {
		if got := reloaded("app:v1", test.count, test.failed); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
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

func TestFleetDefaults(t *testing.T) {
	for _, test := range []struct {
		name               string
		args               []string
		clusters, cuttable int
	}{
		{"no fleet", nil, 1, 0},
		{"a fleet alone", []string{"--fleet=20"}, 0, 20},
		{"a fleet beside clusters", []string{"--fleet=20", "--clusters=2"}, 2, 20},
		{"a large fleet", []string{"--fleet=5000"}, 0, 500},
		{"as many as the user sets", []string{"--fleet=5000", "--fleet-cuttable=600"}, 0, 600},
		{"none", []string{"--fleet=20", "--fleet-cuttable=0"}, 0, 0},
	} {
		options := &launcher.Options{}
		up := upCommand(options)
		up.RunE = func(*cobra.Command, []string) error { return nil }
		up.SetArgs(test.args)
		if err := up.Execute(); err != nil {
			t.Fatal(err)
		}
		if options.Clusters != test.clusters || options.Fleet.Cuttable != test.cuttable {
			t.Errorf("%s: %d clusters, %d cuttable, want %d, %d", test.name, options.Clusters, options.Fleet.Cuttable, test.clusters, test.cuttable)
		}
	}
}

func TestCountOf(t *testing.T) {
	names := []string{"fleet-0001", "fleet-0002", "fleet-0003", "fleet-0004", "fleet-0005"}
	for _, test := range []struct {
		name  string
		names []string
		inRow bool
		want  string
	}{
		{"one", names[:1], true, "done: 1 (fleet-0001)\n"},
		{"three", names[:3], true, "done: 3 (fleet-0001, fleet-0002, fleet-0003)\n"},
		{"some", []string{"fleet-0001", "fleet-0009"}, false, "done: 2 (fleet-0001, fleet-0009)\n"},
		{"many in a row", names, true, "done: 5 (fleet-0001 to fleet-0005)\n"},
		{"many", names, false, "done: 5 (fleet-0001, fleet-0002, fleet-0003 and 2 more)\n"},
	} {
		if diff := cmp.Diff(test.want, countOf("done", test.names, test.inRow)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]float64{"10%": 0.1, "0.5%": 0.005, "100%": 1} {
		if got, err := parsePercent(text); err != nil || got != want {
			t.Errorf("parsePercent(%q) = %g, %v, want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"10", "0.1", "0%", "-1%", "101%", "NaN%", "%", ""} {
		if got, err := parsePercent(text); err == nil {
			t.Errorf("parsePercent(%q) = %g, want an error", text, got)
		}
	}
}
