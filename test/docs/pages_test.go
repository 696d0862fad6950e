package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// top is the repository.
var top = os.DirFS("../..")

// maxREADME is the most that a newcomer is asked to read first, in bytes.
const maxREADME = 8000

// notOurs are directories of what was built, fetched or recorded.
var notOurs = []string{"bin", "dist", "artifacts", "node_modules"}

// files returns the repository's files of which the name is wanted.
func files(t *testing.T, wanted func(name string) bool) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(top, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (strings.HasPrefix(name, ".") && name != ".github" && name != ".ci" || slices.Contains(notOurs, name)) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && wanted(name) {
			found = append(found, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func isPage(name string) bool { return strings.HasSuffix(name, ".md") }

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := fs.ReadFile(top, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func exists(file string) bool {
	_, err := fs.Stat(top, path.Clean(file))
	return err == nil
}

// TestLinks: a relative link of a page leads to a file, and its anchor to a heading.
func TestLinks(t *testing.T) {
	count := 0
	for _, page := range files(t, isPage) {
		for _, target := range links(read(t, page)) {
			count++
			file, anchor, _ := strings.Cut(target, "#")
			linked := page
			if file != "" {
				linked = path.Join(path.Dir(page), file)
			}
			switch {
			case !exists(linked):
				t.Errorf("%s: the link %s leads to no file", page, target)
			case anchor != "" && strings.HasSuffix(linked, ".md") && !anchors(read(t, linked))[anchor]:
				t.Errorf("%s: the link %s leads to no heading", page, target)
			}
		}
	}
	if count < 50 {
		t.Errorf("found %d links only", count)
	}
}

// TestCitations: a page that a comment, a test or a script names exists, and so does its anchor. A module of its own names
// pages of its own docs directory.
func TestCitations(t *testing.T) {
	count := 0
	for _, file := range files(t, func(name string) bool { return !isPage(name) && name != "go.sum" }) {
		if strings.HasPrefix(file, "test/docs/") {
			continue
		}
		for _, cited := range citations(read(t, file)) {
			if cited.anchor == "" && strings.HasSuffix(file, "_test.go") {
				continue // a test may make a page's name up
			}
			count++
			page := cited.path
			if module, _, _ := strings.Cut(file, "/"); exists(path.Join(module, page)) {
				page = path.Join(module, page)
			}
			switch {
			case !exists(page):
				t.Errorf("%s names %s, which does not exist", file, cited.path)
			case cited.anchor != "" && !anchors(read(t, page))[cited.anchor]:
				t.Errorf("%s names %s#%s, which is no heading", file, cited.path, cited.anchor)
			}
		}
	}
	if count == 0 {
		t.Error("found no citation")
	}
}

// TestIndex: every page of a docs directory is in its index.
func TestIndex(t *testing.T) {
	for docs, index := range map[string]string{"docs": "docs/README.md", "sandbox/docs": "sandbox/README.md"} {
		text := read(t, index)
		pages, err := fs.Glob(top, docs+"/*.md")
		if err != nil || len(pages) == 0 {
			t.Fatal(pages, err)
		}
		for _, page := range pages {
			if name, _ := filepath.Rel(path.Dir(index), page); page != index && !strings.Contains(text, "("+name) {
				t.Errorf("%s does not list %s", index, page)
			}
		}
	}
}

// TestREADME: a README is short, and the top one has the two commands that everything begins with.
func TestREADME(t *testing.T) {
	for readme, size := range map[string]int{"README.md": maxREADME, "sandbox/README.md": 6 << 10} {
		if page := read(t, readme); len(page) > size {
			t.Errorf("%s has %d bytes, more than %d: move what is not for a newcomer to docs/", readme, len(page), size)
		}
	}
	page := read(t, "README.md")
	for _, command := range []string{"\nmake demo ", "\nmake test "} {
		if !strings.Contains(page, command) {
			t.Errorf("README.md lacks the command %q", strings.TrimSpace(command))
		}
	}
}

// TestRules: the anchors of the mirror's rules are cited by number and name.
func TestRules(t *testing.T) {
	found := anchors(read(t, "docs/design.md"))
	for _, anchor := range []string{
		"rule-1-source", "rule-2-copy", "rule-3-ownership", "rule-4-drift", "rule-5-prune", "rule-6-uninstall",
		"rule-7-silence", "rule-8-own-namespace", "rule-9-reported", "rule-10-removals", "rule-11-contest",
		"uninstall", "csr", "hub-rbac", "rollout", "credentials", "lease", "change-feed", "sandbox-node", "names",
	} {
		if !found[anchor] {
			t.Errorf("docs/design.md has no anchor %s", anchor)
		}
	}
}

func TestLinksOfAPage(t *testing.T) {
	const page = "[a](a.md) and [b\nc](../b.md#c-d), [e](https://example.com/f), `[g](h)`\n```\n[i](j)\n```\n![k](l.svg)\n"
	if diff := cmp.Diff([]string{"a.md", "../b.md#c-d", "l.svg"}, links(page)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnchorsOfAPage(t *testing.T) {
	const page = "# Rule 5: prune\n## `make` and [more](x.md)\n## Same\n## Same\n<a id=\"own\"></a>\n```\n# not this\n```\n"
	want := map[string]bool{"rule-5-prune": true, "make-and-more": true, "same": true, "same-1": true, "own": true}
	if diff := cmp.Diff(want, anchors(page)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCitationsOfASource(t *testing.T) {
	const source = `// see docs/design.md#rule-5-prune, docs/install.md, "../../docs/a-b.md" and https://example.com/docs/x.md`
	want := []citation{{"docs/design.md", "rule-5-prune"}, {"docs/install.md", ""}, {"docs/a-b.md", ""}}
	if diff := cmp.Diff(want, citations(source), cmp.AllowUnexported(citation{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
