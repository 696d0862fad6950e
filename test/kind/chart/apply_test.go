package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recordingKubectl answers as kubectl does on an OCM hub, and writes its arguments to the file CALLS.
// The variable SETS holds the ConfigMapReplicaSets, ENABLED the clusters with the add-on.
const recordingKubectl = `#!/bin/bash
echo "$*" >>"$CALLS"
case "$*" in
  "config view"*) echo https://hub ;;
  "get crd configmapreplicasets"*) echo crd ;;
  "get configmapreplicasets"*) printf '%s' "$SETS" ;;
  "get managedclusteraddons"*) printf '%s' "$ENABLED" ;;
esac
`

// TestDistributionIsRemoved: what a former DISTRIBUTION=1 installed is removed, the Deployment first, and
// before the add-on's controller takes its rights away.
func TestDistributionIsRemoved(t *testing.T) {
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(kubectl, []byte(recordingKubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	removed := []string{
		"delete --ignore-not-found -f deployment.yaml", "delete --ignore-not-found -f poddisruptionbudget.yaml",
		"delete --ignore-not-found -f networkpolicy.yaml", "delete --ignore-not-found -f rbac.yaml",
		"delete --ignore-not-found -f serviceaccount.yaml",
		"delete lease -n open-cluster-management helloworld-replicaset-controller --ignore-not-found",
	}
	for name, test := range map[string]struct {
		reason, script, distribution string
		sets, enabled                string
		refused                      string   // part of the error
		want                         []string // in this order, among others
		without                      string
	}{
		"installed without": {reason: "it may have been there", script: "apply", want: append(removed, "apply -f -")},
		"installed with":    {reason: "it is wanted", script: "apply", distribution: "1", want: []string{"apply -f -"}, without: "delete"},
		"removed":           {reason: "with or without the variable", script: "remove", want: removed},
		"removed with sets": {reason: "their definition would be deleted", script: "remove", sets: "team-a/settings ", refused: "there are ConfigMapReplicaSets", without: "delete"},
		"removed with both": {reason: "the sets go first: the right to remove their ConfigMaps ends with the add-on", script: "remove",
			sets: "team-a/settings ", enabled: "cluster1 ", refused: "there are ConfigMapReplicaSets", without: "delete"},
		"removed while enabled": {reason: "only the controller removes the agents", script: "remove", enabled: "cluster1 ",
			refused: "the add-on is still enabled on: cluster1", without: "delete"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := filepath.Join(t.TempDir(), "calls")
			command := exec.CommandContext(t.Context(), filepath.Join(deployDir, test.script), kubectl, "example.com/a:v1")
			command.Env = append(os.Environ(), "CALLS="+calls, "DISTRIBUTION="+test.distribution, "SETS="+test.sets, "ENABLED="+test.enabled)
			output, err := command.CombinedOutput()
			if (err != nil) != (test.refused != "") || !strings.Contains(string(output), test.refused) {
				t.Fatalf("%s: ended with %v:\n%s", test.reason, err, output)
			}
			absolute, err := filepath.Abs(filepath.Join(deployDir, "distribution"))
			if err != nil {
				t.Fatal(err)
			}
			made := strings.ReplaceAll(readFile(t, calls), absolute+"/", "")
			rest := made
			for _, want := range test.want {
				_, after, found := strings.Cut(rest, want+"\n")
				if !found {
					t.Fatalf("%s: want %q, after those before it, in:\n%s", test.reason, want, made)
				}
				rest = after
			}
			if test.without != "" && strings.Contains(made, test.without) {
				t.Errorf("%s: there is %q in:\n%s", test.reason, test.without, made)
			}
		})
	}
}
