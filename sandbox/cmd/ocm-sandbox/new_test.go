package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/sandbox/template"
)

func TestAddonOptions(t *testing.T) {
	clone := t.TempDir()
	if err := os.Mkdir(filepath.Join(clone, "sandboxtest"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, addon, version, replace string
		want                          template.Options
		problems                      []string
	}{
		{"a release", "a", "v0.2.0", "", template.Options{Name: "a", Version: "v0.2.0"}, nil},
		{"a clone", "a", "", clone, template.Options{Name: "a", Version: unreleased, Replace: clone}, nil},
		{"a release, and a clone", "a", "v0.2.0", clone, template.Options{Name: "a", Version: unreleased, Replace: clone}, nil},
		{"no version, and no name", "A", "", "", template.Options{}, []string{"built from local files", `"A" cannot be an add-on's name`}},
		{"no clone", "a", "", t.TempDir(), template.Options{}, []string{"name the directory sandbox of a clone"}},
	} {
		got, err := addonOptions(test.addon, test.version, test.replace)
		if err == nil && len(test.problems) == 0 {
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
			continue
		}
		for _, problem := range append(test.problems, "") {
			if len(test.problems) == 0 || err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %q", test.name, err, problem)
			}
		}
	}
}

func TestExplainTidy(t *testing.T) {
	const own = "go: open-cluster-management.io/helloworld-addon/sandbox@v0.0.0-1: 404 Not Found"
	for _, test := range []struct{ name, output, want string }{
		{"the sandbox's module", "go: downloading a v1\n" + own + "\nserver response: not found\n",
			own + "\nserver response: not found\nthis version of ocm-sandbox may not be published: give --replace=CLONE/sandbox, the directory of its sources"},
		{"another cause", "go: finding module for package x\ngo: x@v1: no network\n", "go: x@v1: no network"},
		{"a line for each import", strings.Repeat("go: x\n", 100), strings.TrimSuffix(strings.Repeat("go: x\n", 5), "\n")},
	} {
		if diff := cmp.Diff(test.want, explainTidy(test.output)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestNewKeepsWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("clone/sandboxtest", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("taken", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	cmd.SetArgs([]string{"new", "taken", "--replace=clone"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "taken exists: choose another name") {
		t.Errorf("new = %v, want that the name is taken", err)
	}
	if content, err := os.ReadFile("taken"); string(content) != "mine" {
		t.Errorf("the file has %q now, %v", content, err)
	}
}
