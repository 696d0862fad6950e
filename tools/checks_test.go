// Package tools tests the repository's checks.
package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is a git repository with one commit, the check, and an author.
type repository struct{ dir string }

func newRepository(t *testing.T, check string) repository {
	t.Helper()
	r := repository{t.TempDir()}
	text, err := os.ReadFile(check)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "tools/"+check, string(text))
	r.git(t, "init", "--quiet", "--initial-branch=main")
	r.git(t, "config", "user.name", "Ada")
	r.git(t, "config", "user.email", "ada@example.com")
	r.git(t, "commit", "--quiet", "--allow-empty", "--message=Before the rule")
	return r
}

func (r repository) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (r repository) git(t *testing.T, args ...string) string {
	t.Helper()
	output, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// run runs the check and returns its output, and whether it passed.
func (r repository) run(args ...string) (string, bool) {
	output, err := exec.Command(filepath.Join(r.dir, args[0]), args[1:]...).CombinedOutput()
	return string(output), err == nil
}

func TestCheckCommits(t *testing.T) {
	signed := "\n\nSigned-off-by: Ada <ada@example.com>"
	for _, c := range []struct {
		name    string
		message string
		author  string
		want    string // of the output; empty when the commit is right
	}{
		{name: "right", message: "hub/addon: refuse an empty name" + signed},
		{name: "72 characters", message: "mirror: " + strings.Repeat("é", 64) + signed},
		{name: "73 characters", message: "mirror: " + strings.Repeat("é", 65) + signed, want: "73 characters"},
		{name: "no area", message: "Refuse an empty name" + signed, want: "not of the form"},
		{name: "area with a capital", message: "Hub: refuse an empty name" + signed, want: "not of the form"},
		{name: "no sign-off", message: "hub: refuse an empty name", want: "Signed-off-by of its author <ada@example.com> is missing"},
		{name: "another one's sign-off", message: "hub: x\n\nSigned-off-by: Bob <bob@example.com>", want: "is missing"},
		{
			name: "a program's sign-off", author: "dependabot[bot] <1+dependabot[bot]@users.noreply.github.com>",
			message: "deps: bump x\n\nSigned-off-by: dependabot[bot] <support@github.com>",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t, "check-commits")
			since := r.git(t, "rev-parse", "HEAD")
			if c.author == "" {
				c.author = "Ada <ada@example.com>"
			}
			r.git(t, "commit", "--quiet", "--allow-empty", "--author="+c.author, "--message="+c.message)
			output, passed := r.run("tools/check-commits", since)
			if passed != (c.want == "") || !strings.Contains(output, c.want) {
				t.Errorf("passed: %t, want %q in:\n%s", passed, c.want, output)
			}
		})
	}
}

func TestCheckCommitsOfALimitedHistory(t *testing.T) {
	r := newRepository(t, "check-commits")
	since := r.git(t, "rev-parse", "HEAD")
	for _, message := range []string{"hub: more", "hub: still more", "Wrong", "hub: the last"} {
		r.git(t, "commit", "--quiet", "--allow-empty", "--signoff", "--message="+message)
	}
	shallow := repository{t.TempDir()}
	shallow.git(t, "clone", "--quiet", "--depth=1", "file://"+r.dir, ".")
	deeper := repository{t.TempDir()}
	deeper.git(t, "clone", "--quiet", "--depth=2", "file://"+r.dir, ".")
	for _, c := range []struct {
		name   string
		in     repository
		since  string
		want   string
		passed bool
	}{
		{"whole", r, since, `"Wrong": the subject`, false},
		{"unknown commit", r, strings.Repeat("a", 40), "is not in the history of", false},
		{"shallow clone without the wrong commit", shallow, since, "git fetch --unshallow)\n1 commits checked", true},
		{"shallow clone with the wrong commit", deeper, since, `"Wrong": the subject`, false},
		{"no repository", repository{t.TempDir()}, since, "no commit was checked: fatal: not a git repository", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile("check-commits")
			if err != nil {
				t.Fatal(err)
			}
			c.in.write(t, "tools/check-commits", string(text))
			if output, passed := c.in.run("tools/check-commits", c.since); passed != c.passed || !strings.Contains(output, c.want) {
				t.Errorf("passed: %t, want %q in:\n%s", passed, c.want, output)
			}
		})
	}
}

func TestCheckUpdates(t *testing.T) {
	const config = `version: 2
updates:
- package-ecosystem: gomod
  directories:
  - /
  - /sandbox/programs
  schedule:
    interval: weekly
- package-ecosystem: docker
  directories:
  - /
`
	for _, c := range []struct {
		name, file, want string
	}{
		{name: "complete"},
		{name: "a module that is not listed", file: "test/new/go.mod", want: "+/test/new\n"},
		{name: "an image that is not listed", file: "sandbox/Dockerfile", want: "+/sandbox\n"},
		{name: "a vendored module of another name", file: "test/new/not-go.mod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t, "check-updates")
			for _, path := range []string{"go.mod", "sandbox/programs/go.mod", "Dockerfile", c.file} {
				if path != "" {
					r.write(t, path, "")
				}
			}
			r.write(t, "bin/go.mod", "") // built
			r.write(t, ".github/dependabot.yml", config)
			output, passed := r.run("tools/check-updates")
			if passed != (c.want == "") || !strings.Contains(output, c.want) {
				t.Errorf("passed: %t, want %q in:\n%s", passed, c.want, output)
			}
		})
	}
	t.Run("a module that is gone", func(t *testing.T) {
		r := newRepository(t, "check-updates")
		r.write(t, "go.mod", "")
		r.write(t, "Dockerfile", "")
		r.write(t, ".github/dependabot.yml", config)
		if output, passed := r.run("tools/check-updates"); passed || !strings.Contains(output, "-/sandbox/programs\n") {
			t.Errorf("passed: %t\n%s", passed, output)
		}
	})
}

func TestCheckGenerated(t *testing.T) {
	for _, c := range []struct {
		name, recipe, want string
	}{
		{"nothing to do", "true", ""},
		{"the same again", "echo same >file", ""},
		{"a file in bin", "mkdir -p bin; echo new >bin/file", ""},
		{"another content", "echo other >file", "commit the result:\nfile\n"},
		{"another file", "echo new >more", "commit the result:\nmore\n"},
		{"a failure", "false", "Error 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t, "check-generated")
			r.write(t, "file", "same\n")
			r.write(t, "Makefile", "generate:\n\t"+c.recipe+"\n")
			output, passed := r.run("tools/check-generated")
			if passed != (c.want == "") || !strings.Contains(output, c.want) {
				t.Errorf("passed: %t, want %q in:\n%s", passed, c.want, output)
			}
		})
	}
}

// The workflows run what .ci/run runs.
func TestWorkflows(t *testing.T) {
	targets := func(path string, pattern *regexp.Regexp) (found []string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
			found = append(found, strings.Fields(match[1])...)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	local := targets("../.ci/run", regexp.MustCompile(`(?m)^\s+(?:run make|tests) ([a-z0-9-]+)`))
	workflow := targets("../.github/workflows/ci.yml", regexp.MustCompile(`(?m)^\s+- make ([a-z0-9 -]+)(?: [A-Z]+=\S+)*$`))
	if len(local) == 0 || !slices.Equal(local, workflow) {
		t.Errorf(".ci/run runs       %v\nthe workflow runs %v", local, workflow)
	}
}
