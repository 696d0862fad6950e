//go:build sandbox

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// runOwn returns a call of `run`, whose sandbox is below tmp.
func runOwn(tmp string, args ...string) *exec.Cmd {
	cmd := exec.Command(command, append([]string{"--programs=" + os.Getenv("SANDBOX_PROGRAMS"), "--module=" + os.Getenv("SANDBOX_MODULE"), "run"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	return cmd
}

// useClusters fails after it has used the clusters by the variables of `run`.
const useClusters = `set -e
kubectl create secret generic hidden --from-literal=password=my-password >/dev/null
kubectl --context=cluster1 create configmap shown --from-literal=a=b >/dev/null
kubectl --kubeconfig="$HUB_KUBECONFIG" get managedclusters -o name
kubectl --kubeconfig="$CLUSTER1_KUBECONFIG" get configmap shown -o name
eval "$("$OCM_SANDBOX" env)"
"$OCM_SANDBOX" status | grep -c "KUBECONFIG=$SANDBOX_DIR/hub.kubeconfig"
kubectl get customresourcedefinition managedclusters.cluster.open-cluster-management.io \
  -o jsonpath='{.status.conditions[?(@.type=="Established")].lastTransitionTime}' >"$ESTABLISHED"
exit 7
`

// TestRunOfACommand checks a command that fails: what it finds, and what is left after it.
func TestRunOfACommand(t *testing.T) {
	tmp := shortTemp(t)
	logs := filepath.Join(tmp, "logs")
	var stdout, stderr bytes.Buffer
	cmd := runOwn(tmp, "--clusters=1", "--audit", "--keep-logs="+logs, "--", "sh", "-c", useClusters)
	established := filepath.Join(t.TempDir(), "established")
	cmd.Env = append(cmd.Env, "ESTABLISHED="+established)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	want := "managedcluster.cluster.open-cluster-management.io/cluster1\nconfigmap/shown\n1\n"
	if got := cmd.ProcessState.ExitCode(); got != 7 || stdout.String() != want {
		t.Errorf("exit code %d, output %q, want 7, %q\n%s", got, stdout.String(), want, stderr.String())
	}
	for file, part := range map[string]string{
		"about.txt":                                "cluster1: Kubernetes v1.",
		"events/hub.txt":                           "ManagedCluster/cluster1",
		"logs/hub/logs/audit.log":                  "managedclusters",
		"logs/cluster1/logs/work-agent.log":        "Starting",
		"objects/hub/default/secrets.yaml":         "password: '(redacted: 11 bytes)'",
		"objects/cluster1/default/configmaps.yaml": "name: shown",
		"objects/hub/_cluster/managedclusters.cluster.open-cluster-management.io.yaml": "name: cluster1",
	} {
		if content, err := os.ReadFile(filepath.Join(logs, file)); err != nil || !strings.Contains(string(content), part) {
			t.Errorf("%s lacks %q: %v", file, part, err)
		}
	}
	if found := filesWith(t, logs, "my-password", "bXktcGFzc3dvcmQ="); len(found) > 0 {
		t.Errorf("a Secret's value is in %v", found)
	}
	requireCreatedLate(t, established, filepath.Join(logs, "logs/hub/logs/audit.log"))
	requireNothing(t, tmp, logs)
}

// requireCreatedLate checks that the registration agent has not created its ManagedCluster while the API server
// delayed it, because the CRD was new.
func requireCreatedLate(t *testing.T, established, audit string) {
	t.Helper()
	content, err := os.ReadFile(established)
	if err != nil {
		t.Fatal(err)
	}
	since, err := time.Parse(time.RFC3339, string(content))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(audit)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	creates := 0
	for decoder := json.NewDecoder(file); ; {
		var event auditv1.Event
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the API server was writing when the log was copied
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if event.Verb != "create" || event.ObjectRef == nil || event.ObjectRef.Resource != "managedclusters" {
			continue
		}
		creates++
		if after := event.RequestReceivedTimestamp.Sub(since); after < 2*time.Second {
			t.Errorf("the ManagedCluster was created %s after its CRD was established, want at least 2s", after)
		}
	}
	if creates == 0 {
		t.Error("no create of a ManagedCluster is in the audit log")
	}
}

// TestRunThatIsKilled checks that the sandbox does not outlive the run.
func TestRunThatIsKilled(t *testing.T) {
	tmp := shortTemp(t)
	ready := filepath.Join(tmp, "ready")
	cmd := runOwn(tmp, "--", "sh", "-c", "touch "+ready+"; sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command starts", func() error { _, err := os.Stat(ready); return err })
	if len(statedir.Processes(tmp)) < 15 {
		t.Errorf("a hub and a cluster should be at least 15 programs: %v", statedir.Processes(tmp))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the sandbox is removed", func() error {
		found, err := filepath.Glob(filepath.Join(tmp, "ocm-sandbox-*"))
		if len(found) > 0 {
			err = errors.Join(err, fmt.Errorf("%v is left", found))
		}
		return err
	})
	requireNothing(t, tmp, ready)
}

// requireNothing checks that no process of a sandbox below tmp is left, and no file but the kept one.
func requireNothing(t *testing.T, tmp, kept string) {
	t.Helper()
	if left := statedir.Processes(tmp); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	entries, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if filepath.Join(tmp, entry.Name()) != kept {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

// filesWith returns the files below a directory that contain one of the texts.
func filesWith(t *testing.T, dir string, texts ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				found = append(found, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// shortTemp returns a new directory with a short name: a socket's path has at most 107 bytes.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ocm-run-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
