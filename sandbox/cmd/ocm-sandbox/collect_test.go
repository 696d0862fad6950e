package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvOfAnUnfinishedSandbox checks that env prints no variables that lead nowhere.
func TestEnvOfAnUnfinishedSandbox(t *testing.T) {
	for name, record := range map[string]string{
		"its programs are being built":    `{"kind":"open-cluster-management-sandbox"}`,
		"its clusters have not joined":    `{"kind":"open-cluster-management-sandbox","clusters":["hub"],"programs":"/p"}`,
		"it has ended by itself (no pid)": `{"kind":"open-cluster-management-sandbox","clusters":["hub"],"programs":"/p","ready":true}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := command()
		cmd.SetArgs([]string{"--dir=" + dir, "env"})
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "or its start has not ended") {
			t.Errorf("%s: %v, want that the sandbox does not run", name, err)
		}
	}
}

func TestExports(t *testing.T) {
	const want = "export A='it'\\''s'\nexport B='c=d'\n"
	if got := exports([]string{"A=it's", "OCM_SANDBOX_USE=/s", "B=c=d"}); got != want {
		t.Errorf("exports = %q, want %q", got, want)
	}
}
