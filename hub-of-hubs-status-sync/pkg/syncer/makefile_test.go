package syncer

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMakefile: the original's targets exist, and its users do not build before they push.
func TestMakefile(t *testing.T) {
	read(t, "../../Makefile") // a file that a test reads is part of the key of go test's cache
	for target, want := range map[string][]string{
		"all":          {"go fmt", "go build"},
		"build":        {"go build"},
		"build-images": {"go build", "docker build"},
		"push-images":  {"go build", "docker build", "docker push quay.io/me/hub-of-hubs-status-sync:v1"},
		"fmt":          {"go fmt"},
		"lint":         {"golangci-lint run"},
		"clean":        {"rm -rf bin"},
	} {
		out, err := exec.CommandContext(t.Context(), "make", "-n", "-C", "../..", target, "REGISTRY=quay.io/me", "IMAGE_TAG=v1").CombinedOutput()
		if err != nil {
			t.Errorf("make -n %s: %v\n%s", target, err, out)
		}
		at := make([]int, len(want))
		for i, command := range want {
			at[i] = strings.Index(string(out), command)
		}
		if slices.Contains(at, -1) || !slices.IsSorted(at) {
			t.Errorf("make -n %s prints %q, want %q in this order", target, out, want)
		}
	}
}
