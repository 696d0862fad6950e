package template

import (
	"errors"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node-counter")
	options := Options{Name: "node-counter", Version: "v0.2.0"}
	if err := Write(dir, options); err != nil {
		t.Fatal(err)
	}
	found := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(content), placeholder) {
			t.Errorf("%s has the placeholder", path)
		}
		if strings.HasSuffix(path, ".go") {
			if formatted, err := format.Source(content); err != nil || string(formatted) != string(content) {
				t.Errorf("%s is not as gofmt writes it: %v", path, err)
			}
		}
		if strings.HasSuffix(path, ".yml") {
			if err := yaml.Unmarshal(content, new(any)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", ".gitignore", ".github/workflows/test.yml", "main.go", "README.md", "manifests/agent.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%v (of %d files)", err, found)
		}
	}
	if err := Write(dir, options); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Write over an add-on = %v, want %v", err, fs.ErrExist)
	}
}

func TestGoMod(t *testing.T) {
	for _, test := range []struct{ name, replace, want string }{
		{"a release", "", "\nrequire " + ModulePath + " v0.2.0\n"},
		{"local files", "/a clone/sandbox", "\nrequire " + ModulePath + " v0.2.0\n\nreplace " + ModulePath + " => \"/a clone/sandbox\"\n"},
	} {
		options := Options{Name: "a", Version: "v0.2.0", Replace: test.replace}
		name, content := options.render("go.mod.tmpl", "module example.com/my-addon\n")
		if want := "module example.com/a\n" + test.want; name != "go.mod" || content != want {
			t.Errorf("%s: %s has %q, want %q", test.name, name, content, want)
		}
	}
}

// TestReplaced checks that nothing in an add-on asks for a published version that it does not use.
func TestReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if err := Write(dir, Options{Name: "a", Version: "v0.0.0", Replace: "/a clone/sandbox"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"README.md":                  "go install -C \"/a clone/sandbox\" -trimpath ./cmd/ocm-sandbox    # once\n",
		".github/workflows/test.yml": "# fails until go.mod has no replace directive",
	} {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) || strings.Contains(string(content), install) {
			t.Errorf("%s lacks %q, or has %q:\n%s", name, want, install, content)
		}
	}
	content, err := files.ReadFile(directory + "/README.md")
	if err != nil || !strings.Contains(string(content), install) {
		t.Errorf("README.md of the template lacks %q, which the sources replace: %v", install, err)
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"my-addon", "a", "1st", strings.Repeat("a", 52)} {
		if err := (&Options{Name: good}).Validate(); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "My-Addon", "my_addon", "-a", "a.b", "a/b", "..", "a-", "1", "true", "null", "on", strings.Repeat("a", 53)} {
		dir := filepath.Join(t.TempDir(), "new")
		if err := Write(dir, Options{Name: bad}); err == nil || !strings.Contains(err.Error(), "cannot be an add-on's name") {
			t.Errorf("%q: %v, want that it cannot be a name", bad, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: the directory is there", bad)
		}
	}
}
