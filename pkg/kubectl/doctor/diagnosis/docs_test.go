package diagnosis

import (
	"os"
	"strings"
	"testing"
)

// TestDocumented: docs/kubectl.md has each reason, in the order of causes, and whether it is a cause of its own.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### What doctor finds")
	table, _, _ = strings.Cut(table, "### What doctor asks")
	last := 0
	for _, k := range kinds {
		if strings.HasPrefix(k.page, pageStates) && k.reason != AgentNotReady {
			continue // the page about credentials has them
		}
		at := strings.Index(table, "`"+string(k.reason)+"`")
		if at < last {
			t.Errorf("%s is at %d, after %d", k.reason, at, last)
			continue
		}
		last = at
		line := table[strings.LastIndex(table[:at], "\n")+1:]
		line, _, _ = strings.Cut(line, "\n")
		if strings.Contains(line, "*advice*") != k.advice || strings.Contains(line, "*own*") != (k.own && !k.advice) {
			t.Errorf("%s: own is %t and advice %t in the code, and the page has %q", k.reason, k.own, k.advice, line)
		}
	}
}
