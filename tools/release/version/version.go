// Package version finds and changes the places of the repository that name the
// version of its latest release.
package version

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// File holds the version of the latest release, for builds without a tag.
const File = "VERSION"

const (
	changelog = "CHANGELOG.md"
	chart     = "deploy/chart/helloworld-addon/Chart.yaml"
)

// valid is a semantic version as Kubernetes' libraries read it, without build
// metadata: an image tag cannot have a plus sign.
var valid = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// A place is a text whose second group is a version and has to be the release's.
type place struct {
	pattern *regexp.Regexp
	bare    bool // without the leading v, as Helm wants a chart's version
}

// released is the heading of a released version, without the date.
const released = "## [%s] - "

// compared is the changelog's link to what is not released.
var compared = regexp.MustCompile(`(?m)^(\[Unreleased\]: )(\S+)/compare/\S+\.\.\.main$`)

// name matches our images' names.
const name = `quay\.io/open-cluster-management/(?:helloworld-addon|hub-of-hubs-status-sync)(?:-agent)?`

var (
	image   = place{pattern: regexp.MustCompile(`(` + name + `:)(v[0-9][0-9A-Za-z.-]*[0-9A-Za-z])`)}
	newTag  = place{pattern: regexp.MustCompile(`(- name: ` + name + `\n  newTag: )(\S+)`)}
	appOf   = place{pattern: regexp.MustCompile(`(?m)^(appVersion: )(\S+)$`)}
	chartOf = place{pattern: regexp.MustCompile(`(?m)^(version: )(\S+)$`), bare: true}
	wholeOf = place{pattern: regexp.MustCompile(`^()(\S+)`)}
	// a line of a shell example, which has the version in the names of files to download
	shellOf = place{pattern: regexp.MustCompile(`(?m)^(version=)(v\S+)$`)}
)

// placesOf returns the places to look for in a file, and whether each must be
// there.
func placesOf(path string) (places []place, required bool) {
	switch {
	case path == File:
		return []place{wholeOf}, true
	case path == chart:
		return []place{chartOf, appOf}, true
	case path == changelog, strings.HasPrefix(path, "tools/"):
		return nil, false // the changelog names earlier versions
	case filepath.Base(path) == "kustomization.yaml":
		return []place{image, newTag}, false
	case filepath.Ext(path) == ".md":
		return []place{image, shellOf}, false
	default:
		return []place{image}, false
	}
}

func (p place) want(version string) string {
	if p.bare {
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// Check returns the places among the files, which are paths below root, that do
// not name the version. Everything that a release consists of names the same
// one: for example, the chart's appVersion is the tag of its default image.
func Check(root string, files []string, version string) (problems []string, err error) {
	if !valid.MatchString(version) {
		return []string{fmt.Sprintf("%q is no version of the form v1.2.3 or v1.2.3-rc.1", version)}, nil
	}
	for _, path := range files {
		places, required := placesOf(path)
		if len(places) == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			problems = append(problems, p.check(path, string(text), version, required)...)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, changelog))
	if err != nil {
		return nil, err
	}
	if heading := fmt.Sprintf(released, strings.TrimPrefix(version, "v")); !strings.Contains(string(text), "\n"+heading) {
		problems = append(problems, fmt.Sprintf("%s: no heading %q with a date", changelog, heading))
	}
	return problems, nil
}

func (p place) check(path, text, version string, required bool) (problems []string) {
	want := p.want(version)
	found := p.pattern.FindAllStringSubmatchIndex(text, -1)
	for _, at := range found {
		if got := text[at[4]:at[5]]; got != want {
			line := 1 + strings.Count(text[:at[4]], "\n")
			problems = append(problems, fmt.Sprintf("%s:%d: %s instead of %s", path, line, got, want))
		}
	}
	if required && len(found) == 0 {
		problems = append(problems, fmt.Sprintf("%s: names no version", path))
	}
	return problems
}

// Set writes the version to all places among the files, and gives the
// changelog's section Unreleased the version and the date.
func Set(root string, files []string, version, date string) error {
	if !valid.MatchString(version) {
		return fmt.Errorf("%q is no version of the form v1.2.3 or v1.2.3-rc.1", version)
	}
	for _, path := range files {
		places, _ := placesOf(path)
		if len(places) == 0 {
			continue
		}
		if err := edit(filepath.Join(root, path), func(text string) string {
			for _, p := range places {
				text = p.pattern.ReplaceAllString(text, "${1}"+p.want(version))
			}
			return text
		}); err != nil {
			return err
		}
	}
	return edit(filepath.Join(root, changelog), func(text string) string {
		const unreleased = "## [Unreleased]\n"
		heading := fmt.Sprintf(released, strings.TrimPrefix(version, "v"))
		if strings.Contains(text, "\n"+heading) {
			return text
		}
		text = strings.Replace(text, unreleased, unreleased+"\n"+heading+date+"\n", 1)
		return compared.ReplaceAllString(text, "${1}${2}/compare/"+version+"...main\n["+strings.TrimPrefix(version, "v")+"]: ${2}/releases/tag/"+version)
	})
}

// edit writes the file when change returns another text.
func edit(path string, change func(text string) string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := change(string(old))
	if text == string(old) {
		return nil
	}
	return os.WriteFile(path, []byte(text), info.Mode().Perm())
}
