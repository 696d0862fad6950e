package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKeepStartsAgainUntilTheContextEnds(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "logs", "program.log")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	starts := filepath.Join(dir, "starts")
	// it ends by itself once, and then runs until it is told to end
	script := `echo start >>"$STARTS"; test "$(wc -l <"$STARTS")" -ge 2 && touch "$STARTS.second" && exec sleep 60`
	done := make(chan error, 1)
	go func() {
		done <- Keep(ctx, Spec{Name: "test", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"STARTS=" + starts}, Log: log},
			func(err *LoopError) { t.Errorf("one death is no loop: %v", err) })
	}()
	waitFor(t, starts+".second")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Keep: %v", err)
	}
}

func TestKeepReportsALoopWithTheEndOfTheLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "program.log")
	ctx, cancel := context.WithCancel(t.Context())
	var got *LoopError
	err := Keep(ctx, Spec{Name: "cluster1/etcd", Path: "/bin/sh", Args: []string{"-c", "echo no space left on device; exit 3"}, Log: log},
		func(err *LoopError) { got = err; cancel() })
	if err != nil {
		t.Fatalf("Keep: %v", err)
	}
	if got == nil {
		t.Fatal("a program that always dies was not reported")
	}
	for _, want := range []string{"cluster1/etcd", "died 4 times", "exit status 3", log, "no space left on device"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, got)
		}
	}
}

func TestALoopForLackOfInotifyInstancesNamesTheSetting(t *testing.T) {
	const setting = "sysctl fs.inotify.max_user_instances"
	for tail, want := range map[string]bool{"Error: too many open files": true, "Error: no space left on device": false} {
		err := &LoopError{Name: "hub/work-webhook", Cause: errors.New("exit status 1"), Tail: tail}
		if got := strings.Contains(err.Error(), setting); got != want {
			t.Errorf("with the log %q the error names the setting: %t, want %t:\n%v", tail, got, want, err)
		}
	}
}

func TestKeepSaysWhatCannotBeStarted(t *testing.T) {
	err := Keep(t.Context(), Spec{Name: "hub/etcd", Path: "/no/such/program", Log: filepath.Join(t.TempDir(), "log")}, nil)
	if err == nil || !strings.Contains(err.Error(), "start hub/etcd") {
		t.Errorf("Keep = %v, want an error that names the program", err)
	}
}

func TestTailBeginsWithALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Repeat("a long line of a log\n", 200)+"the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tail(file)
	if !strings.HasPrefix(got, "a long line of a log\n") || !strings.HasSuffix(got, "\nthe end") || len(got) > logTail {
		t.Errorf("tail = %q (%d bytes)", got, len(got))
	}
}

// waitFor waits up to half a minute for a file.
func waitFor(t *testing.T, file string) {
	t.Helper()
	for range 1500 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", file)
}
