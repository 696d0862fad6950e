package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestPlatforms checks that the plugin compiles for the operating systems of its users that are not those of the
// tests. The release builds it for more platforms: tools/release/artifact/plugin.go
func TestPlatforms(t *testing.T) {
	for _, env := range [][]string{{"GOOS=windows", "GOARCH=amd64"}, {"GOOS=darwin", "GOARCH=arm64"}} {
		t.Run(env[0], func(t *testing.T) {
			vet := exec.CommandContext(t.Context(), "go", "vet", ".")
			// the flags of all other builds, whose results it then shares
			vet.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath"), env...)
			if output, err := vet.CombinedOutput(); err != nil {
				t.Errorf("the plugin does not compile for %s: %v\n%s", env, err, output)
			}
		})
	}
}
