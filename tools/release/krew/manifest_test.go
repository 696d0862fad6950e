package krew

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file instead of comparing with it")

// That krew accepts such a manifest is a test of package artifact, with archives.
func TestManifest(t *testing.T) {
	p := Plugin{
		Name: "helloworld", Short: "See clusters", Description: "Shows clusters,\nthe worst first.\n",
		Homepage: "https://example.com/helloworld", Caveats: "The context has to name the hub.\n",
	}
	got, err := p.Manifest("v0.1.0-rc.1", "https://example.com/releases/v0.1.0-rc.1", []Archive{
		{Name: "kubectl-helloworld-linux-arm64.tar.gz", SHA256: strings.Repeat("0a", 32), OS: "linux", Arch: "arm64"},
		{Name: "kubectl-helloworld-windows-amd64.zip", SHA256: strings.Repeat("1b", 32), OS: "windows", Arch: "amd64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden := "testdata/" + p.File()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("read golden file: %v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error("manifest (-want +got):\n" + diff)
	}
}
