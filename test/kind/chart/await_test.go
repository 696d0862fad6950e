package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stubKubectl answers as kubectl does of a Deployment at its second revision.
// The variables PODS and SETS hold what pods and ReplicaSets of the newest hash
// report; OLD holds what the pods of the former one do.
const stubKubectl = `#!/bin/bash
case "$*" in
  "rollout status"*) [[ -n $ROLLED_OUT ]] || exec sleep 60 ;;
  *" deploy helloworld-controller "*) printf '%s' "$GENERATIONS" ;;
  *"get"*" replicasets -l app.kubernetes.io/name=helloworld-controller -o"*) printf '9 old\n10 new\n' ;;
  *"get"*" replicasets "*pod-template-hash=new*) printf '%s' "$SETS" ;;
  *"get"*" pods "*pod-template-hash=new*) printf '%s' "$PODS" ;;
  *"get"*" pods "*pod-template-hash=old*) printf '%s' "$OLD" ;;
  *"get"*" events "*) echo "Warning Failed Back-off pulling image" ;;
  logs*) echo "the pod's log" ;;
esac
`

// TestAwaitController: a rollout whose pods cannot start fails at once and
// prints why, and nothing else does.
func TestAwaitController(t *testing.T) {
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(kubectl, []byte(stubKubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason string
		env    []string
		want   []string // of the output of a failure; none: it succeeds
	}{
		"rolled out": {
			reason: "pods of the former revision are not looked at",
			env:    []string{"ROLLED_OUT=1", "GENERATIONS=3 3", "OLD=old-1 CrashLoopBackOff: back-off\n"},
		},
		"an image that cannot be pulled": {
			reason: "the pod's reason, events, and the way back",
			env:    []string{"GENERATIONS=3 3", "PODS=new-1 ImagePullBackOff: not found\n"},
			want:   []string{"pod new-1 does not start: ImagePullBackOff: not found", "Back-off pulling image", "kubectl rollout undo"},
		},
		"a program that crashes": {
			reason: "its log",
			env:    []string{"GENERATIONS=3 3", "PODS=new-1 CrashLoopBackOff: back-off\n"},
			want:   []string{"pod new-1 does not start: CrashLoopBackOff", "the pod's log"},
		},
		"a quota": {
			reason: "no pod is created, so that none can be looked at",
			env:    []string{"GENERATIONS=3 3", "SETS=- FailedCreate: exceeded quota\n"},
			want:   []string{"no pod is created: FailedCreate: exceeded quota"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), filepath.Join(deployDir, "await-controller"), kubectl)
			command.Env = append(append(os.Environ(), "CERTAIN_SECONDS=1"), test.env...)
			output, err := command.CombinedOutput()
			if (err != nil) != (test.want != nil) {
				t.Fatalf("%s: ended with %v:\n%s", test.reason, err, output)
			}
			for _, want := range test.want {
				if !strings.Contains(string(output), want) {
					t.Errorf("%s: want %q in:\n%s", test.reason, want, output)
				}
			}
		})
	}
}
