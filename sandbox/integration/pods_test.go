//go:build sandbox

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPods runs pods that need more of a node than a Deployment of one container does.
func TestPods(t *testing.T) {
	image := t.TempDir()
	build(t, filepath.Join(image, "bin", "tool"), "./cmd/tool")
	s := newSandbox(t)
	s.up("--clusters=1", "--image=tool="+image)
	for name, test := range map[string]func(*sandbox){
		"terminal": (*sandbox).testTerminal,
	} {
		t.Run(name, func(t *testing.T) { test(&sandbox{t: t, dir: s.dir}) })
	}
}

// withInput runs kubectl on cluster1 with an input.
func (s *sandbox) withInput(stdin string, args ...string) (string, error) {
	args = append([]string{"--kubeconfig=" + filepath.Join(s.dir, "cluster1.kubeconfig")}, args...)
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(os.Getenv("SANDBOX_PROGRAMS"), "kubectl"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const terminalPod = `
apiVersion: v1
kind: Pod
metadata: {name: terminal, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - {name: tool, image: tool, command: [/bin/tool, cat], stdin: true, tty: true}
`

// The terminal echoes the line, and Ctrl-D ends the program.
func (s *sandbox) testTerminal() {
	s.apply("cluster1", terminalPod)
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/terminal", "--timeout=20s")
	out, err := s.withInput("hello\n\x04", "attach", "-i", "terminal")
	if err != nil || strings.Count(out, "hello\r\n") != 2 {
		s.t.Errorf("attach: %v, %q", err, out)
	}
	s.must("cluster1", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/terminal", "--timeout=20s")
	if out := s.must("cluster1", "logs", "terminal"); strings.Count(out, "hello") != 2 {
		s.t.Errorf("log: %q", out)
	}
}
