//go:build sandbox

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestAction runs the commands of action.yml as GitHub would: each step alone, with the PATH of the ones before.
// Programs in place of ocm-sandbox, sysctl and sudo report how the action calls them, on a machine that restricts user
// namespaces.
func TestAction(t *testing.T) {
	content, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Run string            `json:"run"`
				Env map[string]string `json:"env"`
			} `json:"steps"`
		} `json:"runs"`
	}
	if err := yaml.Unmarshal(content, &action); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const allow = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
	for _, test := range []struct{ name, ocm, kubernetes, key, calls string }{
		{"the pinned versions", "", "", "-", allow + "ocm-sandbox setup\n"},
		{"other versions", "v1.0.0", "v1.33.9", "v1.0.0-v1.33.9", allow + "ocm-sandbox setup --ocm-version=v1.0.0 --kubernetes-version=v1.33.9\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tmp := t.TempDir()
			paths, outputs := filepath.Join(tmp, "path"), filepath.Join(tmp, "output")
			machine, log := filepath.Join(tmp, "machine"), filepath.Join(tmp, "calls")
			writeReporter(t, machine, "sudo", "")
			writeReporter(t, machine, "sysctl", "echo 1; exit")
			path := machine + ":" + os.Getenv("PATH")
			before := path
			expressions := strings.NewReplacer("${{ github.action_path }}", module,
				"${{ inputs.ocm-version }}", test.ocm, "${{ inputs.kubernetes-version }}", test.kubernetes)
			for _, step := range action.Runs.Steps {
				if step.Run == "" {
					continue // another action
				}
				cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
				cmd.Dir = tmp // a caller's repository
				cmd.Env = append(os.Environ(), "PATH="+path, "RUNNER_TEMP="+tmp, "RUNNER_ARCH=X64", "GITHUB_PATH="+paths, "GITHUB_OUTPUT="+outputs, "CALLS="+log)
				for name, value := range step.Env {
					cmd.Env = append(cmd.Env, name+"="+expressions.Replace(value))
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if path == before {
					path = replaceCommand(t, paths) + ":" + path
				}
			}
			calls, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.calls, string(calls)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			key, err := os.ReadFile(outputs)
			if err != nil || !regexp.MustCompile(`^key=ocm-sandbox-X64-[0-9a-f]{16}-`+regexp.QuoteMeta(test.key)+"\n$").Match(key) {
				t.Errorf("key of the cache: %s, %v", key, err)
			}
		})
	}
}

// replaceCommand replaces the ocm-sandbox in the directory that a step has added to the PATH, and returns the directory.
func replaceCommand(t *testing.T, paths string) string {
	t.Helper()
	added, err := os.ReadFile(paths)
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(added))
	if out, err := exec.Command(filepath.Join(dir, "ocm-sandbox"), "--help").CombinedOutput(); err != nil {
		t.Fatalf("ocm-sandbox --help: %v\n%s", err, out)
	}
	writeReporter(t, dir, "ocm-sandbox", "")
	return dir
}

// writeReporter writes a program that runs the script, and then appends its name and arguments to the file $CALLS.
func writeReporter(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	content := "#!/bin/sh\n" + script + "\necho " + name + " \"$@\" >>\"$CALLS\"\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
