package sandboxtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// keep logs reports of the add-ons for a test that failed, collects logs, events and objects of the sandbox, and
// logs where they are.
func (s *Sandbox) keep(t testing.TB) {
	t.Helper()
	for _, text := range s.summary(context.WithoutCancel(t.Context()), s.reported.take(t.Name())) {
		t.Log(text)
	}
	dir, err := keepDir(t)
	if err != nil {
		t.Logf("cannot keep the logs of the sandbox: %v", err)
		return
	}
	if _, err := s.run(context.WithoutCancel(t.Context()), "collect", dir); err != nil {
		t.Logf("cannot keep everything of the sandbox: %v", err)
	}
	t.Logf("the sandbox's logs, events and objects are kept in %s", dir)
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
