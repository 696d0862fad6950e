//go:build sandbox

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPods runs pods that need more of a node than a Deployment of one container does.
func TestPods(t *testing.T) {
	image := t.TempDir()
	build(t, filepath.Join(image, "bin", "tool"), "./cmd/tool")
	s := newSandbox(t)
	s.up("--clusters=1", "--image=tool="+image, "--allow-host-path="+filepath.Dir(s.dir))
	for name, test := range map[string]func(*sandbox){
		"terminal": (*sandbox).testTerminal,
		"debug":    (*sandbox).testDebug,
		"sidecars": (*sandbox).testSidecars,
		"top":      (*sandbox).testTop,
		"gRPC":     (*sandbox).testGRPC,
		"hostPath": (*sandbox).testHostPath,
		"claims":   (*sandbox).testClaims,
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

const debuggedPod = `
apiVersion: v1
kind: Pod
metadata: {name: debugged, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: tool, image: tool, command: [/bin/tool, wait]}
`

// kubectl debug sees the processes and files of its target, and may be refused.
func (s *sandbox) testDebug() {
	s.apply("cluster1", debuggedPod)
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/debugged", "--timeout=20s")

	for container, path := range map[string]string{"processes": "/proc/1/cmdline", "files": "/proc/1/root/etc/hostname"} {
		s.must("cluster1", "debug", "debugged", "--image=tool", "--target=tool", "--profile=general", "-c", container, "--", "/bin/tool", "print", path)
		eventually(s.t, "the debugger has printed "+path, func() error {
			out, err := s.kubectl("cluster1", "get", "pod", "debugged", "-o", "jsonpath={.status.ephemeralContainerStatuses[*].state.terminated}")
			return requireParts(out, err, `"exitCode":0`)
		})
	}
	if out := s.must("cluster1", "logs", "debugged", "-c", "processes"); out != "/bin/tool\x00wait\x00" {
		s.t.Errorf("the target's command line: %q", out)
	}
	out, err := s.withInput("hello\n\x04", "debug", "debugged", "-it", "--image=tool", "-c", "terminal", "--", "/bin/tool", "cat")
	if err != nil || strings.Count(out, "hello\r\n") < 1 {
		s.t.Errorf("debug -it: %v, %q", err, out)
	}

	s.must("cluster1", "debug", "debugged", "--image=tool", "--profile=sysadmin", "-c", "refused", "--", "/bin/tool", "wait")
	eventually(s.t, "a privileged container is refused", func() error {
		out, err := s.kubectl("cluster1", "get", "events", "--field-selector=reason=Unsupported", "-o", "jsonpath={.items[*].message}")
		return requireParts(out, err, `this node does not support container "refused": privileged`)
	})
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/debugged", "--timeout=5s")

	s.must("cluster1", "debug", "debugged", "--copy-to=copy", "-c", "tool", "--", "/bin/tool", "wait")
	s.must("cluster1", "wait", "--for=condition=Ready", "pod/copy", "--timeout=20s")
}

const sidecarJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: sidecars, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      initContainers:
      - name: probed
        image: tool
        command: [/bin/tool, wait]
        restartPolicy: Always
        startupProbe: {exec: {command: [tool, exit, "0"]}, periodSeconds: 1, initialDelaySeconds: 2}
      - {name: ending, image: tool, command: [/bin/tool, exit, "1"], restartPolicy: Always}
      containers:
      - {name: tool, image: tool, command: [/bin/tool, exit, "0"]}
`

// A Job with sidecars completes when its ordinary container has. A sidecar that ends is
// restarted.
func (s *sandbox) testSidecars() {
	s.apply("cluster1", sidecarJob)
	s.must("cluster1", "wait", "--for=condition=Complete", "job/sidecars", "--timeout=60s")
	phase := s.must("cluster1", "get", "pods", "-l", "job-name=sidecars", "-o", "jsonpath={.items[*].status.phase}")
	started := s.must("cluster1", "get", "pods", "-l", "job-name=sidecars", "-o",
		"jsonpath={.items[*].status.initContainerStatuses[0].state.terminated.startedAt} {.items[*].status.containerStatuses[0].state.terminated.startedAt}")
	first, last, _ := strings.Cut(started, " ")
	if phase != "Succeeded" || first == "" || first >= last {
		s.t.Errorf("the pod is %s; its sidecar started at %s, and the ordinary container, which waits for the startup probe, at %s", phase, first, last)
	}

	s.apply("cluster1", strings.NewReplacer("name: sidecars", "name: serving", `exit, "0"]}`+"\n", "wait]}\n").Replace(sidecarJob))
	eventually(s.t, "the pod runs, and its sidecar that ends is restarted", func() error {
		out, err := s.kubectl("cluster1", "get", "pods", "-l", "job-name=serving", "-o",
			"jsonpath={.items[*].status.phase} {.items[*].status.initContainerStatuses[0].ready} {.items[*].status.initContainerStatuses[1].restartCount}")
		return requireParts(out, err, "Running true 1")
	})
	s.must("cluster1", "delete", "job/serving", "--timeout=20s")
}

const topPod = `
apiVersion: v1
kind: Pod
metadata: {name: busy, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: idle, image: tool, command: [/bin/tool, wait]}
  - {name: spin, image: tool, command: [/bin/tool, spin]}
`

// kubectl top shows the pod that uses a processor, to whom may see pods.
func (s *sandbox) testTop() {
	s.apply("cluster1", topPod)
	eventually(s.t, "kubectl top pods shows it", func() error {
		out, err := s.kubectl("cluster1", "top", "pods", "--containers", "--no-headers")
		if err := requireParts(out, err, "idle", "spin"); err != nil {
			return err
		}
		cpu := map[string]int{}
		for line := range strings.Lines(out) {
			fields := strings.Fields(line) // POD NAME CPU MEMORY
			milli, err := strconv.Atoi(strings.TrimSuffix(fields[2], "m"))
			if err != nil || !strings.HasSuffix(fields[3], "Mi") {
				return fmt.Errorf("unexpected line %q: %w", line, err)
			}
			cpu[fields[1]] = milli
		}
		if cpu["spin"] < 50 || cpu["spin"] <= cpu["idle"] {
			return fmt.Errorf("the busy container is not above the idle one: %v", cpu)
		}
		return nil
	})
	// by which API servers before Kubernetes v1.34 find the node
	if out, err := s.kubectl("cluster1", "get", "endpoints", "-n", "kube-system", "sandbox-metrics", "-o", "name"); err != nil {
		s.t.Errorf("%v: %s", err, out)
	}
	if out, err := s.kubectl("cluster1", "top", "nodes"); requireParts(out, err, "cluster1-node") != nil {
		s.t.Errorf("top nodes: %v\n%s", err, out)
	}
	s.must("cluster1", "delete", "pod", "busy", "--timeout=20s")
	for role, want := range map[string]string{"view": "yes", "system:node-proxier": "no"} {
		s.must("cluster1", "create", "rolebinding", "top-"+strings.ReplaceAll(role, ":", "-"), "--clusterrole="+role, "--user="+role)
		out, _ := s.kubectl("cluster1", "auth", "can-i", "list", "pods.metrics.k8s.io", "--as="+role)
		if out != want {
			s.t.Errorf("list of the metrics as %s: %s, want %s", role, out, want)
		}
	}
}

const grpcPod = `
apiVersion: v1
kind: Pod
metadata: {name: grpc, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: grpc
    image: tool
    command: [/bin/tool, grpc, ":9000"]
    readinessProbe: {grpc: {port: 9000, service: ready}, periodSeconds: 1}
    livenessProbe: {grpc: {port: 9000}, periodSeconds: 1}
  - name: unhealthy
    image: tool
    command: [/bin/tool, wait]
    readinessProbe: {grpc: {port: 9000, service: other}, periodSeconds: 1}
`

func (s *sandbox) testGRPC() {
	s.apply("cluster1", grpcPod)
	eventually(s.t, "the container with the service is ready, the other one is not", func() error {
		out, err := s.kubectl("cluster1", "get", "pod", "grpc", "-o", "jsonpath={.status.containerStatuses[*].ready}")
		return requireParts(out, err, "true false")
	})
	eventually(s.t, "an event names the unknown service", func() error {
		out, err := s.kubectl("cluster1", "get", "events", "--field-selector=reason=Unhealthy,involvedObject.name=grpc", "-o", "jsonpath={.items[*].message}")
		return requireParts(out, err, `gRPC health check of service "other"`)
	})
}

const hostPathPod = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - {name: tool, image: tool, command: [/bin/tool, write, /host/file, hello], volumeMounts: [{name: host, mountPath: /host}]}
  volumes:
  - {name: host, hostPath: {path: %[2]s, type: DirectoryOrCreate}}
`

// The directory above the sandbox's is allowed: a pod writes to one in it, and no link leads out.
func (s *sandbox) testHostPath() {
	allowed := filepath.Dir(s.dir)
	shared, elsewhere := filepath.Join(allowed, "shared"), s.t.TempDir()
	if err := os.Mkdir(shared, 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil { // for the pod's user
		s.t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(allowed, "escape")); err != nil {
		s.t.Fatal(err)
	}
	s.apply("cluster1", fmt.Sprintf(hostPathPod, "host", shared))
	s.must("cluster1", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/host", "--timeout=30s")
	if content, err := os.ReadFile(filepath.Join(shared, "file")); err != nil || string(content) != "hello" {
		s.t.Errorf("the file: %q, %v", content, err)
	}
	for name, path := range map[string]string{"escape": filepath.Join(allowed, "escape"), "outside": "/etc"} {
		s.apply("cluster1", fmt.Sprintf(hostPathPod, name, path))
		want := map[string]string{"escape": "leads out of the allowed directories", "outside": "--allow-host-path=DIR"}[name]
		eventually(s.t, "an event refuses "+path, func() error {
			out, err := s.kubectl("cluster1", "get", "events", "--field-selector=involvedObject.name="+name, "-o", "jsonpath={.items[*].message}")
			return requireParts(out, err, want)
		})
		s.must("cluster1", "delete", "pod", name, "--timeout=20s")
	}
}

const claimingPod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - {name: tool, image: tool, command: %[2]s, volumeMounts: [{name: data, mountPath: /data}]}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
`

// What one pod writes to a claim's volume another reads, until the claim is deleted.
func (s *sandbox) testClaims() {
	for _, pod := range [][2]string{{"writer", "[/bin/tool, write, /data/file, hello]"}, {"reader", "[/bin/tool, print, /data/file]"}} {
		s.apply("cluster1", fmt.Sprintf(claimingPod, pod[0], pod[1]))
		s.must("cluster1", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+pod[0], "--timeout=60s")
	}
	if out := s.must("cluster1", "logs", "reader"); out != "hello" {
		s.t.Errorf("the reader has read %q", out)
	}
	if out := s.must("cluster1", "get", "pvc", "data", "-o", "jsonpath={.spec.storageClassName}"); out != "sandbox" {
		s.t.Errorf("the default StorageClass: %s", out)
	}
	volume := filepath.Join(s.dir, "cluster1", "volumes", s.must("cluster1", "get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}"))
	if _, err := os.Stat(filepath.Join(volume, "file")); err != nil {
		s.t.Errorf("the volume's directory: %v", err)
	}
	s.must("cluster1", "delete", "pod", "writer", "reader", "--timeout=20s")
	s.must("cluster1", "delete", "pvc", "data", "--timeout=30s")
	eventually(s.t, "the volume and its directory are gone", func() error {
		out, err := s.kubectl("cluster1", "get", "pv", "-o", "name")
		if _, statErr := os.Stat(volume); out != "" || !os.IsNotExist(statErr) {
			return fmt.Errorf("%s, %w, %w", out, err, statErr)
		}
		return nil
	})
}
