//go:build sandbox

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// toolPod has a variable by which its processes are found, and runs in every one of them.
const toolPod = `
apiVersion: v1
kind: Pod
metadata: {name: tool, namespace: default}
spec:
  containers:
  - name: tool
    image: registry.example.com/tool:v1
    command: [/bin/tool, wait]
    env: [{name: TOOL_OF, value: %q}]
    livenessProbe: {exec: {command: [tool, exit, "0"]}, periodSeconds: 1}
    lifecycle:
      postStart: {exec: {command: [/bin/tool, exit, "0"]}}
      preStop: {sleep: {seconds: 1}}
`

// TestExec runs programs in a pod of a real sandbox, and ends the sandbox while one runs.
// The tests of package node have the details.
func TestExec(t *testing.T) {
	image := t.TempDir()
	build(t, filepath.Join(image, "bin", "tool"), "./cmd/tool")
	s := newSandbox(t)
	s.up("--clusters=1", "--image=registry.example.com/tool="+image)
	file := s.file(fmt.Sprintf(toolPod, s.dir))
	s.must("cluster1", "apply", "-f", file)
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/tool", "--timeout=20s")

	out, err := s.kubectl("cluster1", "exec", "tool", "--", "tool", "exit", "7")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(out, "exit code 7") {
		t.Errorf("exec of a program that ends with 7: %v\n%s", err, out)
	}
	kubectl := filepath.Join(os.Getenv("SANDBOX_PROGRAMS"), "kubectl")
	cat := exec.Command(kubectl, "--kubeconfig="+filepath.Join(s.dir, "cluster1.kubeconfig"), "exec", "-i", "tool", "--", "tool", "cat")
	cat.Stdin = strings.NewReader("hello")
	if out, err := cat.CombinedOutput(); err != nil || string(out) != "hello" {
		t.Errorf("exec -i: %v, %q", err, out)
	}
	waits := exec.Command(kubectl, "--kubeconfig="+filepath.Join(s.dir, "cluster1.kubeconfig"), "exec", "tool", "--", "tool", "wait")
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	programs := func() []statedir.Process { return statedir.ProcessesWith("TOOL_OF=" + s.dir) }
	eventually(t, "the pod has two programs", func() error {
		count := 0
		for _, p := range programs() {
			if strings.HasSuffix(strings.Join(p.Args, " "), "tool wait") {
				count++
			}
		}
		if count != 2 {
			return fmt.Errorf("%d: %v", count, programs())
		}
		return nil
	})
	if out, err := s.run(t.Context(), "down"); err != nil {
		t.Errorf("down: %v\n%s", err, out)
	}
	if err := waits.Wait(); err == nil {
		t.Error("kubectl exec ended with success although its program was killed")
	}
	s.requireGone()
	if left := programs(); len(left) > 0 {
		t.Errorf("processes of the pod are left: %v", left)
	}
}
