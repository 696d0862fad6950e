package container

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	before := processes(t)
	if err := Check(t.Context()); err != nil {
		t.Error(err)
	}
	if after := processes(t); after != before {
		t.Errorf("processes: got %d, want %d as before", after, before)
	}
}

func TestCheckGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error: got %v, want context.Canceled", err)
	}
}

// TestRefusedCheck runs where network namespaces are forbidden only; see
// TestWithoutNetworkNamespaces.
func TestRefusedCheck(t *testing.T) {
	err := Check(t.Context())
	if networksForbidden := readSettings()["user.max_net_namespaces"] == "0"; !networksForbidden {
		if err != nil {
			t.Error(err)
		}
		return
	}
	const want = "this machine does not allow containers: create a network namespace: " +
		"no space left on device: user.max_net_namespaces is 0: an administrator can change it with " +
		"`sysctl -w user.max_net_namespaces=15000`"
	if err == nil || err.Error() != want {
		t.Errorf("error: got %v, want %q", err, want)
	}
}

func TestInitByHand(t *testing.T) {
	output, err := exec.Command(self, InitArg).CombinedOutput()
	if err == nil {
		t.Error("exit code 0")
	}
	if !strings.Contains(string(output), "do not run it by hand") || strings.Count(string(output), "\n") != 1 {
		t.Errorf("output: got %q, want one line that says what it is", output)
	}
}

func TestAdvice(t *testing.T) {
	tests := map[string]struct {
		values map[string]string
		root   bool
		want   []string
		not    string
	}{
		"Debian's setting": {
			values: map[string]string{"kernel.unprivileged_userns_clone": "0"},
			want:   []string{"sysctl -w kernel.unprivileged_userns_clone=1", "run it as root"},
		},
		"Ubuntu's setting": {
			values: map[string]string{"kernel.apparmor_restrict_unprivileged_userns": "1", "user.max_user_namespaces": "100"},
			want:   []string{"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0", "run it as root"},
			not:    "max_user_namespaces",
		},
		"a limit, and root": {
			values: map[string]string{"user.max_net_namespaces": "0", "kernel.unprivileged_userns_clone": "0"},
			root:   true,
			want:   []string{"sysctl -w user.max_net_namespaces=15000"},
			not:    "unprivileged",
		},
		"no setting": {
			values: map[string]string{"user.max_user_namespaces": "100"},
			root:   true,
			want:   []string{"seccomp or AppArmor profile", "Linux 5.12"},
			not:    "run it as root",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := advice(tt.values, tt.root)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("advice: got %q, want one that contains %q", got, want)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("advice: got %q, want one without %q", got, tt.not)
			}
		})
	}
}
