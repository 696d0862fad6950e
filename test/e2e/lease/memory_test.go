//go:build e2e

package lease

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxRssAnon is, in kB, what a sidecar may have of its own in memory.
const maxRssAnon = 10 * 1024

// The clusters' processes are this machine's, on the sandbox and on kind.
func memory(t *testing.T, _ *environment) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, "look at the processes", err)
	found := 0
	for _, file := range files {
		// A process may have ended meanwhile.
		raw, _ := os.ReadFile(file)
		name, _, _ := bytes.Cut(raw, []byte{0})
		if path.Base(string(name)) != program {
			continue
		}
		anonymous, err := rssAnon(filepath.Join(filepath.Dir(file), "status"))
		must(t, "read its memory", err)
		found++
		t.Logf("process %s: RssAnon %.1f MB", filepath.Base(filepath.Dir(file)), float64(anonymous)/1024)
		if anonymous >= maxRssAnon {
			t.Errorf("RssAnon is %d kB, want less than %d", anonymous, maxRssAnon)
		}
	}
	if found < 2 {
		t.Errorf("found %d processes of the sidecar, want those of two clusters at least", found)
	}
}

func rssAnon(file string) (kilobytes int, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			_, err := fmt.Sscanf(value, "%d kB", &kilobytes)
			return kilobytes, err
		}
	}
	return 0, fmt.Errorf("%s has no RssAnon", file)
}
