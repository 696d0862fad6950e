//go:build sandbox

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// work is a ManifestWork with the Deployment of the agent or a Job.
const work = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  workload:
    manifests:
    - %[3]s
`

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: fleetagent, namespace: default}, spec: {
      selector: {matchLabels: {app: fleetagent}}, template: {metadata: {labels: {app: fleetagent}}, spec: {containers: [
        {name: agent, image: "registry.example.com/fleetagent:v1", args: ["--pod=$(POD_NAME)", "--version=%s"],
         env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}}}`

const hook = `{apiVersion: batch/v1, kind: Job, metadata: {name: hook, namespace: default}, spec: {
      template: {spec: {restartPolicy: Never, containers: [{name: hook, image: "registry.example.com/fleetagent:v1"}]}}}}`

// fleet is a sandbox with a fleet.
type fleet struct {
	*sandbox
	clusters []string
}

// TestFleet runs the agents of an add-on for a fleet through its faults.
func TestFleet(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "fleetagent")
	build(t, agent, "./cmd/fleetagent")
	f := &fleet{sandbox: newSandbox(t)}
	out := f.up("--fleet=5", "--fleet-agents="+agent+" --v=2", "--status-sync-interval=5s")
	f.requireStatus(out, "5 clusters: 5 joined, 5 available, 0 cut off")
	for n := range 5 {
		f.learn(fmt.Sprintf("fleet-%04d", n+1))
	}

	f.deploy("1", f.clusters...)
	for _, name := range f.clusters {
		f.requireCalls(name, "agent", "1", "2") // the first call fails, the second goes on
	}
	f.testJob()
	f.testCut()
	f.testHubRestart()
	f.testMembers()
	f.testAgentsRestart()

	if programs := f.programs(); len(programs) != 1 || programs[0].Args[0] != agent {
		t.Errorf("the user's program runs as %v", programs)
	}
	f.do("down")
	f.requireGone()
	if left := f.programs(); len(left) > 0 {
		t.Errorf("processes of the user's program are left: %v", left)
	}
}

// programs returns the processes of the user's program, which need no argument with a path of the
// sandbox.
func (f *fleet) programs() []statedir.Process {
	return statedir.ProcessesWith("OCM_FLEET=" + filepath.Join(f.dir, "fleet", "fleet.json"))
}

// learn writes the kubeconfig of a cluster where kubectl looks for it.
func (f *fleet) learn(name string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name+".kubeconfig"), []byte(f.do("fleet", "kubeconfig", name)), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.clusters = append(f.clusters, name)
}

// do runs a command of the sandbox, which must succeed.
func (f *fleet) do(args ...string) string {
	f.t.Helper()
	out, err := f.run(f.t.Context(), args...)
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fleet) requireStatus(out, want string) {
	f.t.Helper()
	if !strings.Contains(out, want) {
		f.t.Errorf("the status is without %q:\n%s", want, out)
	}
}

// deploy applies the agent's ManifestWork for the clusters.
func (f *fleet) deploy(version string, clusters ...string) {
	f.t.Helper()
	for _, name := range clusters {
		f.apply("hub", fmt.Sprintf(work, name, "agent", fmt.Sprintf(deployment, version)))
	}
}

// calls returns an error unless the agent's function has written this to the cluster.
func (f *fleet) calls(name, what, version, calls string) error {
	got, err := f.kubectl(name, "get", "configmap", what, "-n", "default", "-o", "jsonpath={.data.cluster} {.data.pod} {.data.args} {.data.calls}")
	fields := strings.Fields(got)
	if err != nil || len(fields) < 3 || fields[0] != name || fields[len(fields)-1] != calls {
		return fmt.Errorf("%s: %q, %w, want %s calls", name, got, err, calls)
	}
	if what == "agent" && (!strings.HasPrefix(fields[1], "fleetagent-") || fields[2] != "--pod="+fields[1] || fields[3] != "--version="+version) {
		return fmt.Errorf("%s: %q, want the pod and its arguments with version %s", name, got, version)
	}
	return nil
}

func (f *fleet) requireCalls(name, what, version, calls string) {
	f.t.Helper()
	eventually(f.t, "the function is called on "+name, func() error { return f.calls(name, what, version, calls) })
}

// testJob checks that a Job is complete after its second pod, and that the hub knows.
func (f *fleet) testJob() {
	f.t.Helper()
	f.apply("hub", fmt.Sprintf(work, "fleet-0001", "hook", hook))
	f.requireCalls("fleet-0001", "job", "", "2")
	eventually(f.t, "the Job is complete", func() error {
		got, err := f.kubectl("fleet-0001", "get", "job", "hook", "-n", "default", "-o", "jsonpath={.status.succeeded} {.status.failed}")
		if err != nil || got != "1 1" {
			return fmt.Errorf("%q, %w", got, err)
		}
		return nil
	})
	f.must("hub", "wait", "--for=condition=Available", "manifestwork/hook", "-n", "fleet-0001", "--timeout=60s")
}

// testCut checks that a change does not reach the clusters that are cut off, and does when they are
// mended.
func (f *fleet) testCut() {
	f.t.Helper()
	f.do("cut", "--share=40%")
	f.requireStatus(f.do("status"), "2 cut off")
	f.deploy("2", f.clusters...)
	for _, name := range f.clusters[2:] {
		f.requireCalls(name, "agent", "2", "4")
	}
	for _, name := range f.clusters[:2] {
		if err := f.calls(name, "agent", "1", "2"); err != nil {
			f.t.Errorf("%s is cut off, and has changed: %v", name, err)
		}
	}
	f.do("mend", "fleet-0001")
	f.requireCalls("fleet-0001", "agent", "2", "4")
	f.do("mend", "--share=100%")
	f.requireCalls("fleet-0002", "agent", "2", "4")
}

func (f *fleet) testHubRestart() {
	f.t.Helper()
	f.do("restart", "hub/kube-apiserver")
	eventually(f.t, "the hub is back", func() error {
		_, err := f.kubectl("hub", "get", "--raw", "/readyz")
		return err
	})
	f.deploy("3", f.clusters...)
	for _, name := range f.clusters {
		f.requireCalls(name, "agent", "3", "6")
	}
}

// testMembers detaches a cluster and lets another one join.
func (f *fleet) testMembers() {
	f.t.Helper()
	f.do("fleet", "detach", "fleet-0005")
	f.clusters = slices.DeleteFunc(f.clusters, func(name string) bool { return name == "fleet-0005" })
	eventually(f.t, "the detached cluster is gone", func() error {
		if out, err := f.kubectl("fleet-0005", "get", "namespaces"); err == nil {
			return fmt.Errorf("it answers: %s", out)
		}
		return nil
	})
	if out := f.do("fleet", "join", "1"); !strings.Contains(out, "fleet-0006") {
		f.t.Errorf("a cluster joined under the name of another: %s", out)
	}
	f.learn("fleet-0006")
	if got, want := f.must("hub", "get", "managedclusters", "-o", "jsonpath={.items[*].metadata.name}"), strings.Join(f.clusters, " "); got != want {
		f.t.Errorf("the hub has the clusters %s, want %s", got, want)
	}
	f.requireStatus(f.do("status"), "5 clusters: 5 joined, 5 available, 0 cut off")
	f.deploy("3", "fleet-0006")
	f.requireCalls("fleet-0006", "agent", "3", "2")
}

// testAgentsRestart checks that the agents of all clusters are started again with their program.
func (f *fleet) testAgentsRestart() {
	f.t.Helper()
	f.do("restart", "fleet/addon-agents")
	for _, name := range f.clusters {
		calls := map[bool]string{false: "8", true: "4"}[name == "fleet-0006"]
		f.requireCalls(name, "agent", "3", calls)
	}
}
