package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReasons: docs/kubectl.md has every reason of a finding.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	reasons := regexp.MustCompile(`(?:(?:Incomplete|Blocked|Note|effect), |Failure\{Reason: |return )"([A-Z][A-Za-z]+)"`)
	for _, file := range append(files, more...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range reasons.FindAllStringSubmatch(string(source), -1) {
			found++
			if !strings.Contains(string(page), "`"+match[1]+"`") {
				t.Errorf("%s: docs/kubectl.md lacks the reason %s", file, match[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d reasons are found", found)
	}
}
