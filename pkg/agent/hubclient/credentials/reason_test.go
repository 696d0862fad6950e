package credentials

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryReasonIsDocumented: the page has to contain what to do about each.
func TestEveryReasonIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/hub-credentials.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range []string{"reason.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			found++
			if !strings.Contains(string(page), "`"+match[1]+"`") {
				t.Errorf("the page does not document %s", match[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d reasons only", found)
	}
}
