//go:build e2e && replicaset

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// controlledFromTerminal: "kubectl helloworld rollout" waits for a rollout, pauses and resumes it, fails for one that
// stopped, shows the revisions, and brings the former one back everywhere.
func controlledFromTerminal(t *testing.T, tm *team) {
	const name = "e2e-terminal"
	canary, clusters := tm.second(), tm.clusters
	done := fmt.Sprintf("configmapreplicaset %q successfully rolled out: %d of %[2]d clusters have revision ", name, len(clusters))
	reference := "configmapreplicaset.helloworld.open-cluster-management.io/" + name
	tm.place(t, name, canary, clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %[1]s}], values: [{name: ABSENT, label: %[2]s}],
		placementRefs: [{name: %[1]s, rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 2s}}}]}`, name, absentLabel))
	t.Log(tm.rollout(t, done, "status", name))
	must(t, "what it waited for is there", tm.rolledOut(name, len(clusters))(t.Context()))

	t.Log(tm.rollout(t, reference+" paused", "pause", name))
	tm.rolloutFails(t, "is already paused", "pause", name)
	former := tm.unchanged(t, clusters, name)
	tm.source(t, name, two)
	tm.rolloutFails(t, "timed out after 2s", "status", name, "--timeout=2s")
	must(t, "no cluster is touched while it is paused", former(t.Context()))
	t.Log(tm.rollout(t, reference+" resumed", "resume", "cmrs/"+name))
	tm.rolloutFails(t, "is not paused", "resume", name)

	// It does not take the success of the former revision for that of a change that the controller has not seen.
	for _, data := range []map[string]string{two, one, two} {
		tm.source(t, name, data)
		tm.rollout(t, done, "status", name)
		for _, c := range clusters {
			must(t, c.name+" has it when status ends", c.hasCopy(configMap(name, data))(t.Context()))
		}
	}
	before, err := tm.set(t.Context(), name)
	must(t, "get the set", err)

	tm.source(t, name, map[string]string{"revision": "$(ABSENT)"})
	t.Log(tm.rolloutFails(t, "is not rolled out: Stopped: ", "status", name))
	tm.rolloutFails(t, canary.name+" has no label "+absentLabel, "status", name, "--watch=false")
	t.Log(tm.rollout(t, before.Status.UpdatedRevision, "history", name))
	stopped, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	tm.rollout(t, "$(ABSENT)   label "+absentLabel, "history", name, "--revision="+stopped.Status.UpdatedRevision)

	// One object is written, so nothing is while the spec differs, too.
	tm.change(t, name, fmt.Sprintf(`{"values":[{"name":"ABSENT","label":%q}]}`, absentLabel+"-too"))
	tm.rolloutFails(t, "2 objects differ from it: ", "undo", name, "--to-revision="+before.Status.UpdatedRevision)
	tm.change(t, name, fmt.Sprintf(`{"values":[{"name":"ABSENT","label":%q}]}`, absentLabel))
	tm.rolloutFails(t, "is not rolled out: Stopped: ", "status", name)

	t.Log(tm.rollout(t, `data.revision: "$(ABSENT)" -> "two"`, "undo", name, "--dry-run=server"))
	tm.rolloutFails(t, "is not rolled out: Stopped: ", "status", name)
	t.Log(tm.rollout(t, reference+" rolled back to revision ", "undo", name))
	t.Log(tm.rollout(t, done+before.Status.UpdatedRevision+" synced", "status", name))
	tm.everywhere(t, name, two, clusters...)
	after, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	must(t, "the former revision is back", differ("updatedRevision", before.Status.UpdatedRevision, after.Status.UpdatedRevision))
	tm.rollout(t, "skipped rollback", "undo", name, "--to-revision="+before.Status.UpdatedRevision)
	tm.rolloutFails(t, "is not paused", "resume", name)

	tm.rolloutFails(t, `"e2e-nothing" not found`, "status", "e2e-nothing")
	tm.deletedWhileWatched(t, name)
	paths, err := parseClusters(os.Getenv(clustersEnv), 1)
	must(t, "read "+clustersEnv, err)
	elsewhere := tm.rolloutCommand(t.Context(), t, "status", name)
	elsewhere.Args = append(elsewhere.Args, "--kubeconfig", paths[tm.first().name]) // the last one counts
	if output, err := elsewhere.CombinedOutput(); err == nil || !strings.Contains(string(output), "docs/install.md#distribution") {
		t.Errorf("a cluster that does not serve ConfigMapReplicaSets: %v\n%s", err, output)
	}
}

// deletedWhileWatched: status ends with an error when the set that it waits for is deleted.
func (tm *team) deletedWhileWatched(t *testing.T, name string) {
	t.Helper()
	tm.rollout(t, "paused", "pause", name)
	tm.source(t, name, one)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	command := tm.rolloutCommand(ctx, t, "status", name)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	must(t, "connect to the program's output", err)
	must(t, "start the program", command.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	must(t, "read the first line", err)
	must(t, "delete the set", tm.deleteObject(ctx, replicaSets, name))
	if err := command.Wait(); err == nil || !strings.Contains(stderr.String(), "was deleted") {
		t.Errorf("status of a set that was deleted: %v\n%s", err, stderr.String())
	}
}

// rollout runs "kubectl helloworld rollout" and returns its output, which has to contain want.
func (tm *team) rollout(t *testing.T, want string, args ...string) string {
	t.Helper()
	output, err := tm.rolloutOf(t, args...)
	if err != nil || !strings.Contains(output, want) {
		t.Fatalf("kubectl helloworld rollout %v, want %q: %v\n%s", args, want, err, output)
	}
	return output
}

// rolloutFails is rollout for a command that has to fail with exit code 1.
func (tm *team) rolloutFails(t *testing.T, want string, args ...string) string {
	t.Helper()
	output, err := tm.rolloutOf(t, args...)
	if err == nil || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), want) {
		t.Fatalf("kubectl helloworld rollout %v, want exit code 1 with %q: %v\n%s", args, want, err, output)
	}
	return err.Error()
}

// rolloutOf runs the command. The error has its output.
func (tm *team) rolloutOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	output, err := tm.rolloutCommand(ctx, t, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, output)
	}
	return string(output), err
}

func (tm *team) rolloutCommand(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command, err := plugin(ctx, append([]string{"rollout", "--namespace", tm.namespace}, args...)...)
	must(t, "find the plugin", err)
	return command
}
