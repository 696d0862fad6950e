package runner

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// start starts a run of a shell script in another process.
func start(t *testing.T, script string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	// a test that fails must not leave it; its guard ends the rest
	cmd = exec.CommandContext(t.Context(), os.Args[0], "run", "sh", "-c", script)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// a leftover process that has them open must not delay the test
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdout, stderr
}

// left returns what is left of the runs in the directory for temporary files.
func left(t *testing.T, tmp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tmp, "ocm-sandbox-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// temporary returns a new directory for temporary files.
func temporary(t *testing.T) string {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	return tmp
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script string
		code         int
		stdout       string
		logs         bool
	}{
		{"a success", `basename "$SANDBOX_DIR"`, 0, "sandbox\n", false},
		{"a failure", "exit 7", 7, "", true},
		{"the end by a signal", "kill -KILL $$", 128 + 9, "", true},
	} {
		tmp := temporary(t)
		t.Setenv("KEEP_LOGS", "")
		cmd, stdout, stderr := start(t, test.script)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != test.code || stdout.String() != test.stdout {
			t.Errorf("%s: exit code %d, output %q, want %d, %q\n%s", test.name, got, stdout, test.code, test.stdout, stderr)
		}
		logs, err := filepath.Glob(filepath.Join(tmp, "ocm-sandbox-logs-*", "logs"))
		if err != nil || (len(logs) == 1) != test.logs || len(left(t, tmp)) != len(logs) {
			t.Errorf("%s: logs %v, %v, want them: %t; %v is left", test.name, logs, err, test.logs, left(t, tmp))
		}
		if test.logs && !strings.Contains(stderr.String(), "logs and objects are in "+tmp) {
			t.Errorf("%s: the user reads, without where the logs are: %s", test.name, stderr)
		}
	}
}

func TestKeep(t *testing.T) {
	tmp := temporary(t)
	t.Setenv("KEEP", "1")
	cmd, _, stderr := start(t, "true")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	kept, err := filepath.Glob(filepath.Join(tmp, "ocm-sandbox-run-*", "sandbox", "sandbox.json"))
	if err != nil || len(kept) != 1 || !strings.Contains(stderr.String(), "--dir="+filepath.Dir(kept[0])+" down") {
		t.Errorf("kept: %v, %v; the user reads: %s", kept, err, stderr)
	}
}

func TestBadOptions(t *testing.T) {
	tmp := temporary(t)
	for _, command := range []string{"no-such-command", "./no-such-command"} {
		if err := Run(t.Context(), fake(command)); err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("an unknown command: %v", err)
		}
	}
	t.Setenv("KEEP_LOGS", filepath.Dir(tmp))
	if err := Run(t.Context(), fake("true")); err == nil || !strings.Contains(err.Error(), "--keep-logs="+filepath.Dir(tmp)) {
		t.Errorf("a directory with files: %v", err)
	}
	if found := left(t, tmp); len(found) > 0 {
		t.Errorf("%v is left", found)
	}
}

// TestCommandOfTheSandbox checks that the command may be one that only the sandbox's PATH leads to, as kubectl.
func TestCommandOfTheSandbox(t *testing.T) {
	temporary(t)
	programs := t.TempDir()
	t.Setenv("PROGRAMS", programs)
	if err := os.WriteFile(filepath.Join(programs, "only-there"), []byte("#!/bin/sh\nexit 5\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var exit *ExitError
	if err := Run(t.Context(), fake("only-there")); !errors.As(err, &exit) || exit.Code != 5 {
		t.Errorf("Run = %v, want exit code 5", err)
	}
}

// TestKillAll checks that a process that begins after a look at the others ends too.
func TestKillAll(t *testing.T) {
	var commands []*exec.Cmd
	killAll(func() []statedir.Process {
		if len(commands) == 2 {
			return nil
		}
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, cmd)
		return []statedir.Process{{PID: cmd.Process.Pid}}
	})
	for i, cmd := range commands {
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("process %d ended with %v", i, err)
		}
	}
	if len(commands) != 2 {
		t.Errorf("it looked for processes %d times", len(commands))
	}
}

// TestSignal checks that a signal reaches the command, whose exit code counts.
func TestSignal(t *testing.T) {
	tmp := temporary(t)
	ready := filepath.Join(tmp, "ready")
	cmd, _, stderr := start(t, `trap 'exit 3' TERM; touch `+ready+`; while :; do sleep 0.05; done`)
	await(t, "the command's start", func() bool { _, err := os.Stat(ready); return err == nil })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 3 {
		t.Errorf("exit code %d, want 3\n%s", got, stderr)
	}
	if found := left(t, tmp); len(found) > 0 {
		t.Errorf("%v is left, and an interrupt should keep no logs", found)
	}
}

// TestKilled checks that neither the sandbox nor a process of the command outlives a run that is killed.
func TestKilled(t *testing.T) {
	tmp := temporary(t)
	ready := filepath.Join(tmp, "ready")
	cmd, _, _ := start(t, `setsid sleep 1000 & echo $! >`+ready+`.new; mv `+ready+`.new `+ready+`; sleep 1000`)
	var pid string
	await(t, "the command's start", func() bool {
		content, err := os.ReadFile(ready)
		pid = strings.TrimSpace(string(content))
		return err == nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "the removal of the sandbox", func() bool { return len(left(t, tmp)) == 0 })
	await(t, "the end of the command's process "+pid, func() bool {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

// await polls until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within half a minute", what)
		}
	}
}
