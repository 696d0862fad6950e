// Package template writes the files of a small, complete add-on with a test on the sandbox.
//
// It writes files. It does not download the modules that they need.
package template

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// files are those of an add-on with the name placeholder. The directory's name keeps the go command away: the
// add-on is a module of its own.
//
//go:embed all:_addon
var files embed.FS

// ModulePath is the module of package sandboxtest.
const ModulePath = "open-cluster-management.io/helloworld-addon/sandbox"

const (
	directory   = "_addon"
	placeholder = "my-addon"
	// install is the command in the add-on's README that installs the published ocm-sandbox.
	install = "CGO_ENABLED=0 go install -trimpath " + ModulePath + "/cmd/ocm-sandbox@latest"
	// longestSuffix is the longest one of the names that are derived from the add-on's and have to be labels.
	longestSuffix = "-controller"
)

// renamed has the files whose real names have a meaning for go or git.
var renamed = map[string]string{"go.mod.tmpl": "go.mod", "gitignore": ".gitignore"}

// Options describe an add-on.
type Options struct {
	// Name is the add-on's name.
	Name string
	// Version is the version of the sandbox's module that the add-on's test uses.
	Version string
	// Replace is a directory with the sources of that module, which replaces it; empty for none.
	Replace string
}

// Validate returns an error unless the name can be that of an add-on.
func (o *Options) Validate() error {
	label := len(validation.IsDNS1123Label(o.Name)) == 0 && len(validation.IsDNS1123Label(o.Name+longestSuffix)) == 0
	// a plain word of YAML: the manifests have the name without quotes
	var value any
	if err := yaml.Unmarshal([]byte(o.Name), &value); err != nil || value != o.Name || !label {
		return fmt.Errorf("%q cannot be an add-on's name: use at most %d lower-case letters, digits and -, for example my-addon",
			o.Name, validation.DNS1123LabelMaxLength-len(longestSuffix))
	}
	return nil
}

// Write writes the add-on into a new directory. The error is fs.ErrExist if there is a file or directory with
// this name.
func Write(dir string, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("create the add-on's directory: %w", err)
	}
	return fs.WalkDir(files, directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		name, text := options.render(strings.TrimPrefix(path, directory+"/"), string(content))
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("write the add-on: %w", err)
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the add-on: %w", err)
		}
		return nil
	})
}

// render returns the name and the content of a file of the add-on.
func (o *Options) render(name, content string) (string, string) {
	if real, ok := renamed[name]; ok {
		name = real
	}
	content = strings.ReplaceAll(content, placeholder, o.Name)
	if name == "go.mod" {
		content += fmt.Sprintf("\nrequire %s %s\n", ModulePath, o.Version)
	}
	if o.Replace != "" {
		content = replaced(name, content, o.Replace)
	}
	return name, content
}

// replaced returns the content of a file of an add-on whose test uses the sources in a directory of this machine.
func replaced(name, content, sources string) string {
	switch name {
	case "go.mod":
		return content + fmt.Sprintf("\nreplace %s => %q\n", ModulePath, sources)
	case "README.md":
		content = strings.ReplaceAll(content, install, fmt.Sprintf("CGO_ENABLED=0 go install -C %q -trimpath ./cmd/ocm-sandbox", sources))
		return content + fmt.Sprintf(`5. The tests use the sandbox in %[1]s. Before another machine or a workflow can run them, use a published version:
   `+"`go mod edit -dropreplace=%[2]s && go get %[2]s@latest`"+`.
`, sources, ModulePath)
	case ".github/workflows/test.yml":
		return "# fails until go.mod has no replace directive: see README.md\n" + content
	}
	return content
}
