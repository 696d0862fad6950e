package version

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files is a small repository at v0.1.0.
func files() map[string]string {
	return map[string]string{
		File:  "v0.1.0\n",
		chart: "apiVersion: v2\nversion: 0.1.0\nappVersion: v0.1.0\n",
		changelog: "# Changelog\n\n## [Unreleased]\n\n- more\n\n## [0.1.0] - 2026-11-22\n\n- first\n\n" +
			"[Unreleased]: https://example.com/compare/v0.1.0...main\n[0.1.0]: https://example.com/releases/tag/v0.1.0\n",
		"deploy/kustomization.yaml":  kustomization("v0.1.0"),
		"docs/install.md":            "Run quay.io/open-cluster-management/helloworld-addon-agent:v0.1.0.\n",
		"docs/kubectl.md":            "```\nversion=v0.1.0\nfile=archive-$version\n```\nkubectl --client-version=v1.2.3\n",
		"docs/script":                "version=v9.9.9\n",
		"docs/other.md":              "Run localhost:5000/helloworld-addon:v7.0.0, or quay.io/open-cluster-management/placement:v1.2.1.\n",
		"tools/release/some_test.go": "quay.io/open-cluster-management/helloworld-addon:v9.9.9\n",
	}
}

func kustomization(tag string) string {
	return "images:\n- name: quay.io/open-cluster-management/helloworld-addon\n  newTag: " + tag + "\n- name: busybox\n  newTag: latest\n"
}

// write puts the files below a directory and returns it with their paths.
func write(t *testing.T, files map[string]string) (root string, paths []string) {
	t.Helper()
	root = t.TempDir()
	for path, text := range files {
		paths = append(paths, path)
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, paths
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(files map[string]string)
		version string
		want    []string
	}{
		{name: "all places agree", version: "v0.1.0"},
		{
			name: "no version for Kubernetes' libraries", version: "0.1.0",
			want: []string{`"0.1.0" is no version of the form v1.2.3 or v1.2.3-rc.1`},
		},
		{
			name: "a tag cannot have build metadata", version: "v0.1.0+1",
			want: []string{`"v0.1.0+1" is no version of the form v1.2.3 or v1.2.3-rc.1`},
		},
		{
			name: "the file for builds without a tag", version: "v0.1.0",
			change: func(files map[string]string) { files[File] = "v0.0.9\n" },
			want:   []string{"VERSION:1: v0.0.9 instead of v0.1.0"},
		},
		{
			name: "the chart would pull another image", version: "v0.1.0",
			change: func(files map[string]string) { files[chart] = "version: 0.1.0\nappVersion: latest\n" },
			want:   []string{chart + ":2: latest instead of v0.1.0"},
		},
		{
			name: "the chart has to have both versions", version: "v0.1.0",
			change: func(files map[string]string) { files[chart] = "version: v0.1.0\n" },
			want:   []string{chart + ":1: v0.1.0 instead of 0.1.0", chart + ": names no version"},
		},
		{
			name: "an image in the documentation", version: "v0.1.0",
			change: func(files map[string]string) { files["docs/install.md"] = "\n" + image0 + "v0.1.0-rc.1.\n" },
			want:   []string{"docs/install.md:2: v0.1.0-rc.1 instead of v0.1.0"},
		},
		{
			name: "an example would download another release", version: "v0.1.0",
			change: func(files map[string]string) { files["docs/kubectl.md"] = "```\nversion=v0.0.9\n```\n" },
			want:   []string{"docs/kubectl.md:2: v0.0.9 instead of v0.1.0"},
		},
		{
			name: "the kustomization's tag", version: "v0.1.0",
			change: func(files map[string]string) { files["deploy/kustomization.yaml"] = kustomization("latest") },
			want:   []string{"deploy/kustomization.yaml:3: latest instead of v0.1.0"},
		},
		{
			name: "the changelog does not describe the release", version: "v0.1.0",
			change: func(files map[string]string) { files[changelog] = "# Changelog\n\n## [Unreleased]\n" },
			want:   []string{`CHANGELOG.md: no heading "## [0.1.0] - " with a date`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := files()
			if c.change != nil {
				c.change(all)
			}
			root, paths := write(t, all)
			got, err := Check(root, paths, c.version)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error("problems (-want +got):\n" + diff)
			}
		})
	}
}

const image0 = "quay.io/open-cluster-management/hub-of-hubs-status-sync:"

func TestSet(t *testing.T) {
	root, paths := write(t, files())
	for range 2 { // the second call changes nothing
		if err := Set(root, paths, "v0.2.0-rc.1", "2027-01-01"); err != nil {
			t.Fatal(err)
		}
	}
	want := files()
	for path, text := range want {
		if path != "tools/release/some_test.go" && path != changelog {
			want[path] = strings.ReplaceAll(text, "0.1.0", "0.2.0-rc.1")
		}
	}
	want[changelog] = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0-rc.1] - 2027-01-01\n\n- more\n\n## [0.1.0] - 2026-11-22\n\n- first\n\n" +
		"[Unreleased]: https://example.com/compare/v0.2.0-rc.1...main\n[0.2.0-rc.1]: https://example.com/releases/tag/v0.2.0-rc.1\n" +
		"[0.1.0]: https://example.com/releases/tag/v0.1.0\n"
	got := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		got[path] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("files (-want +got):\n" + diff)
	}
	if problems, err := Check(root, paths, "v0.2.0-rc.1"); err != nil || len(problems) > 0 {
		t.Error("after Set:", problems, err)
	}
}
