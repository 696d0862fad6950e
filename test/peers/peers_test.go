//go:build peers

package peers

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestManagedServiceAccount(t *testing.T) { play(t, managedServiceAccountSteps) }

func TestManagedServiceAccountTemplate(t *testing.T) { play(t, managedServiceAccountTemplateSteps) }

func TestAddonFramework(t *testing.T) { play(t, addonFrameworkSteps) }

func TestAddonFrameworkToken(t *testing.T) { play(t, addonFrameworkTokenSteps) }

func TestExamples(t *testing.T) { play(t, exampleSteps) }

func TestClusterProxy(t *testing.T) { play(t, clusterProxySteps) }

// play takes the steps one after the other on the clusters of the environment and appends their rows to the file TABLE.
func play(t *testing.T, steps []step) {
	work := t.TempDir()
	for _, s := range steps {
		version, dir := pinned(t, s.module)
		command := exec.CommandContext(t.Context(), "bash", "-c", preamble+s.script)
		command.Dir = dir
		command.Env = append(os.Environ(), "WORK="+work)
		began := time.Now()
		output, err := command.CombinedOutput()
		result := s.result
		if err == nil && result == "" {
			result, err = specs(string(output))
		}
		if err != nil {
			t.Fatalf("%s: %v:\n%s", s.what, err, output)
		}
		record(t, row(short(s.module)+" "+version, s.what, result, time.Since(began)))
	}
}

func record(t *testing.T, row string) {
	t.Helper()
	t.Log(strings.TrimSpace(row))
	file, err := os.OpenFile(os.Getenv("TABLE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("open the file TABLE: %v", err)
	}
	defer file.Close()
	if _, err := file.WriteString(row); err != nil {
		t.Fatal(err)
	}
}
