package sandboxtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// keep collects logs, events and objects of the sandbox for a test that failed. It then logs reports of the
// add-ons, which may take the time until the deadline of go test, and where the collection is.
func (s *Sandbox) keep(t testing.TB) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	dir, err := keepDir(t)
	if err == nil {
		_, err = s.run(ctx, "collect", dir)
	}
	ctx, cancel := context.WithTimeout(ctx, limit(t, inspectTimeout, time.Second))
	defer cancel()
	for _, text := range s.summary(ctx, s.alreadyShown.take(t.Name())) {
		t.Log(text)
	}
	if err != nil {
		t.Logf("cannot keep everything of the sandbox: %v", err)
	}
	if dir != "" {
		t.Logf("the sandbox's logs, events and objects are kept in %s", dir)
	}
}

// keepDir returns a new directory for what is kept of a test.
func keepDir(t testing.TB) (string, error) {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, t.Name())
	parent := os.Getenv("OCM_SANDBOX_KEEP")
	if artifacts := flag.Lookup("test.artifacts"); parent == "" && artifacts != nil && artifacts.Value.String() == "true" {
		return os.MkdirTemp(t.ArtifactDir(), "sandbox-")
	}
	if parent == "" {
		return os.MkdirTemp("", "ocm-sandbox-failed-"+name+"-")
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("create the directory of OCM_SANDBOX_KEEP: %w", err)
	}
	return os.MkdirTemp(parent, name+"-")
}
