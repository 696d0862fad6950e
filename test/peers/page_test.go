package peers

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// short returns the last element of a module's path, by which the table names it.
func short(module string) string { return path.Base(module) }

// pinned returns the version of a module in go.mod, and the directory of its sources if these are downloaded.
func pinned(t *testing.T, module string) (version, dir string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find the version of %s: %v", module, err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(output)), " ")
	return version, dir
}

// TestPage compares the documentation's table with the steps and the pinned versions: it claims nothing that does not run.
func TestPage(t *testing.T) {
	var want []string
	for _, steps := range allSteps {
		for _, s := range steps {
			version, _ := pinned(t, s.module)
			want = append(want, short(s.module)+" "+version+" | "+s.what)
		}
	}
	page, err := os.ReadFile("../../sandbox/docs/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	_, table, _ := strings.Cut(string(page), "| peer | what ran | result | time | on kind |\n| --- | --- | --- | --- | --- |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 5 {
			break
		}
		got = append(got, cells[0]+" | "+cells[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sandbox/docs/peers.md differs from the steps (-want +got):\n%s", diff)
	}
}
