//go:build sandbox

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const toolDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: tool, namespace: default}
spec:
  selector: {matchLabels: {app: tool}}
  template:
    metadata: {labels: {app: tool}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: tool, image: "registry.example.com/tool:v1", command: [/bin/tool, wait]}
`

// TestUpgradeOfAnImage rolls a Deployment out from one tag to another that the sandbox gets
// only later, and back.
func TestUpgradeOfAnImage(t *testing.T) {
	const v1, v2 = "registry.example.com/tool:v1", "registry.example.com/tool:v2"
	one, two := toolImage(t, "v1"), toolImage(t, "v2")
	s := newSandbox(t)
	s.up("--clusters=1", "--image="+v1+"="+one)
	s.apply("cluster1", toolDeployment)
	s.requireRollout("v1")

	s.must("cluster1", "set", "image", "deployment/tool", "tool="+v2)
	eventually(t, "a pod waits for the image", func() error {
		out, err := s.kubectl("cluster1", "get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].state.waiting}")
		return requireParts(out, err, `"ImagePullBackOff"`, v2, "known: "+v1, "ocm-sandbox image go "+v2+" PACKAGE", "image "+v2+"=DIRECTORY")
	})
	eventually(t, "events tell it", func() error {
		for _, reason := range []string{"Failed", "BackOff"} {
			out, err := s.kubectl("cluster1", "get", "events", "--field-selector=reason="+reason, "-o", "jsonpath={.items[*].message}")
			if err := requireParts(out, err, v2, "known: "+v1, "ocm-sandbox image go "+v2+" PACKAGE", "image "+v2+"=DIRECTORY"); err != nil {
				return fmt.Errorf("event %s: %w", reason, err)
			}
		}
		return nil
	})
	if out, err := s.run(t.Context(), "image", v2+"="+two); err != nil {
		t.Fatalf("add the image: %v\n%s", err, out)
	}
	s.requireRollout("v2")
	if out, err := s.run(t.Context(), "image", "ls"); requireParts(out, err, v1+"  "+one, v2+"  "+two) != nil {
		t.Errorf("image ls: %v\n%s", err, out)
	}
	s.must("cluster1", "rollout", "undo", "deployment/tool")
	s.requireRollout("v1")
}

// toolImage returns the directory of an image whose file /version has the version.
func toolImage(t *testing.T, version string) string {
	t.Helper()
	image := t.TempDir()
	build(t, filepath.Join(image, "bin", "tool"), "./cmd/tool")
	if err := os.WriteFile(filepath.Join(image, "version"), []byte(version), 0o644); err != nil {
		t.Fatal(err)
	}
	return image
}

// requireRollout waits for the Deployment's rollout, and until its only pod has the
// version's files.
func (s *sandbox) requireRollout(version string) {
	s.t.Helper()
	s.must("cluster1", "rollout", "status", "deployment/tool", "--timeout=60s")
	eventually(s.t, "the pod is of version "+version, func() error {
		out, err := s.kubectl("cluster1", "exec", "deployment/tool", "--", "tool", "print", "/version")
		if err != nil || out != version {
			return fmt.Errorf("got %q, %w", out, err)
		}
		return nil
	})
}

// requireParts returns an error unless the output has every part.
func requireParts(out string, err error, parts ...string) error {
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			return fmt.Errorf("no %q in: %s", part, out)
		}
	}
	return nil
}
