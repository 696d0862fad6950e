package artifact

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// krewInstalls checks a release by krew's own programs, of the version in go.mod:
// the one with which krew's index checks manifests, and krew itself, as on each
// platform. The program for this platform has to print the text.
func krewInstalls(t *testing.T, files map[string][]byte, plugin, printed string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, nil, "go", "build", "-trimpath", "-o", dir, "sigs.k8s.io/krew/cmd/krew", "sigs.k8s.io/krew/cmd/validate-krew-manifest")
	path := filepath.Join(dir, plugin+".yaml")
	command(t, nil, filepath.Join(dir, "validate-krew-manifest"), "--skip-install", "--manifest="+path)

	var manifest index.Plugin
	if err := yaml.UnmarshalStrict(files[plugin+".yaml"], &manifest); err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, p := range manifest.Spec.Platforms {
		system, arch := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		t.Run(system+"/"+arch, func(t *testing.T) {
			root := t.TempDir()
			base, archive := filepath.Split(p.URI)
			if want := repository + "/releases/download/v0.1.0/"; base != want {
				t.Errorf("the archive is downloaded from %s instead of %s", base, want)
			}
			env := []string{"KREW_ROOT=" + root, "KREW_OS=" + system, "KREW_ARCH=" + arch, "KREW_NO_UPGRADE_CHECK=1"}
			command(t, env, filepath.Join(dir, "krew"), "install", "--manifest="+path, "--archive="+filepath.Join(dir, archive))
			program := filepath.Join(root, "bin", "kubectl-"+plugin)
			if system == "windows" {
				program += ".exe"
			}
			isFor(t, program, system, arch)
			if _, err := os.Stat(filepath.Join(root, "store", plugin, "v0.1.0", "LICENSE")); err != nil {
				t.Error("the license is not installed:", err)
			}
			if system == runtime.GOOS && arch == runtime.GOARCH {
				ran = true
				if output := command(t, nil, program); strings.TrimSpace(output) != printed {
					t.Errorf("it prints %q instead of %q", output, printed)
				}
			}
		})
	}
	if !ran {
		t.Errorf("no program is for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
}

// command runs a command with more variables than the test's, and returns its output.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, output)
	}
	return string(output)
}

// isFor checks that the program is executable, and built for the platform.
func isFor(t *testing.T, program, goos, arch string) {
	t.Helper()
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o111 != 0o111 {
		t.Errorf("%s has mode %s", program, info.Mode())
	}
	built, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, setting := range built.Settings {
		got[setting.Key] = setting.Value
	}
	if got := fmt.Sprintf("%s/%s", got["GOOS"], got["GOARCH"]); got != goos+"/"+arch {
		t.Errorf("krew installs the program for %s on %s/%s", got, goos, arch)
	}
}
