package rollout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputOfThePage: the output that docs/replicaset.md shows is that of the golden files.
func TestOutputOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/replicaset.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			printed[line] = true
		}
	}
	_, section, _ := strings.Cut(string(page), "\n## Control a rollout from a terminal\n")
	section, _, _ = strings.Cut(section, "\n## ")
	shown, inside := 0, false
	for line := range strings.Lines(section) {
		line = strings.TrimPrefix(line, "  ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case inside && !strings.HasPrefix(line, "$ "):
			shown++
			if !printed[line] {
				t.Errorf("no golden file of testdata has the line %q", line)
			}
		}
	}
	if shown < 10 {
		t.Errorf("the section shows %d lines of output", shown)
	}
}
