package container

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// waiting starts a container that waits.
func waiting(t *testing.T) *Process {
	t.Helper()
	return begin(t, spec(t, image(t, nil), "wait"), nil, nil)
}

// execute runs the probe in a container beside its own program, to its end.
func execute(t *testing.T, p *Process, stdout, stderr io.Writer, args ...string) Exit {
	t.Helper()
	e, err := p.Exec(t.Context(), ExecSpec{Args: append([]string{probeName}, args...)}, stdout, stderr)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := e.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestContainerExecIsInside(t *testing.T) {
	s := spec(t, image(t, map[string]string{"tmp/": ""}))
	s.ReadOnlyRoot, s.Dir, s.Env = true, "/work", []string{"A=1"}
	s.Mounts = []Mount{{Source: t.TempDir(), Target: "/cache"}}
	ns := attach(t, bridge(t))
	asked := []string{"/etc/hosts", "/proc/1/comm", "write:/", "write:/cache", "list:/"}
	want := lookIn(t, s, ns, asked...)
	s.Root = t.TempDir()
	s.Args = []string{probeName, "wait"}
	p := begin(t, s, ns, nil)
	var out buffer
	if exit := execute(t, p, &out, nil, append([]string{"look"}, asked...)...); exit != (Exit{}) {
		t.Errorf("exit: %+v", exit)
	}
	var got seen
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("read what the probe saw: %v\n%s", err, out.String())
	}
	if got.PID == 1 {
		t.Error("the program has a PID namespace of its own")
	}
	got.PID = want.PID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a further program sees another world than the container's own (-want +got):\n%s", diff)
	}
}

func TestContainerExecExit(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := spec(t, image(t, map[string]string{"data/file": "x"}), "wait")
	s.Mounts = []Mount{{Source: script, Target: "/script"}}
	p := begin(t, s, nil, nil)
	if got := execute(t, p, nil, nil, "exit", "42"); got != (Exit{Code: 42}) {
		t.Errorf("exit: got %+v, want 42", got)
	}
	for _, c := range []struct {
		program string
		code    int
		message string
	}{
		{"nothing", 127, `exec: "nothing": executable file not found in $PATH`},
		{"/no/thing", 127, "/no/thing: no such file or directory"},
		{"/data/file", 126, "permission denied"},
		{"/script", 126, "exec format error"},
	} {
		_, err := p.Exec(t.Context(), ExecSpec{Args: []string{c.program}}, nil, nil)
		var start *StartError
		if !errors.As(err, &start) || start.Reason != ReasonRun || start.Code != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: got %#v, want code %d and %q", c.program, err, c.code, c.message)
		}
	}
}

// Every byte of a large input comes back, and the two outputs are apart.
func TestContainerExecCopiesAllBytes(t *testing.T) {
	p := waiting(t)
	sent := make([]byte, 100<<20)
	if _, err := rand.Read(sent); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr buffer
	e, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "cat"}, Stdin: true}, &stdout, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Stdin().Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := e.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	if exit, err := e.Wait(); err != nil || exit != (Exit{}) {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	if !bytes.Equal([]byte(stdout.String()), sent) {
		t.Errorf("stdout: %d bytes, which are not the %d that were sent", len(stdout.String()), len(sent))
	}
	if stderr.String() != "copied" {
		t.Errorf("stderr: %q", stderr.String())
	}
}

func TestContainerExecTerminal(t *testing.T) {
	p := waiting(t)
	var out buffer
	e, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "terminal"}, Stdin: true, TTY: true}, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	says := func(text string) {
		t.Helper()
		eventually(t, "it says "+text, func() bool { return strings.Contains(out.String(), text) })
	}
	says("/dev/pts/0 0x0 TERM=xterm\r\n")
	if err := e.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(e.Stdin(), "again\n")
	says("/dev/pts/0 120x40")
	fmt.Fprint(e.Stdin(), "\x03") // Ctrl-C
	if exit, err := e.Wait(); err != nil || exit.Code != 130 && exit.Code != 2 {
		t.Errorf("exit after Ctrl-C: %+v, %v", exit, err)
	}
	second, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "terminal"}, Stdin: true, TTY: true}, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(second.Stdin(), "\x04") // end of the input
	if exit, err := second.Wait(); err != nil || exit != (Exit{Code: 3}) {
		t.Errorf("exit after Ctrl-D: %+v, %v", exit, err)
	}
}

func TestContainerTerminal(t *testing.T) {
	before := descriptors(t)
	s := spec(t, image(t, nil), "terminal")
	s.Stdin, s.TTY = true, true
	var out buffer
	p := begin(t, s, nil, &out)
	says := func(text string) {
		t.Helper()
		eventually(t, "it says "+text, func() bool { return strings.Contains(out.String(), text) })
	}
	says("/dev/pts/0 0x0 TERM=xterm\r\n")
	if err := p.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(p.Stdin(), "again\n")
	says("/dev/pts/0 120x40")
	fmt.Fprint(p.Stdin(), "\x04") // end of the input
	if exit, err := p.Wait(); err != nil || exit != (Exit{Code: 3}) {
		t.Errorf("exit after Ctrl-D: %+v, %v", exit, err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d open files, %d before", after, before)
	}
	s.Root, s.Args = t.TempDir(), []string{"nothing"}
	var start *StartError
	if _, err := Start(t.Context(), s, nil, nil, nil); !errors.As(err, &start) || start.Code != 127 {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestContainerExecEndsWithItsContext(t *testing.T) {
	p := waiting(t)
	before := processes(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out buffer
	e, err := p.Exec(ctx, ExecSpec{Args: []string{probeName, "parent"}}, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program has a child", func() bool { return strings.Contains(out.String(), "started") })
	cancel()
	if exit, err := e.Wait(); err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	// The child is a zombie until the container's own program, which does not wait for it,
	// ends: as in every container without an init.
	eventually(t, "no process is left", func() bool { return running(t) == before })
	if err := p.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the container's own program no longer runs: %v", err)
	}
}

// running counts the processes that are no zombies.
func running(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			count++
		}
	}
	return count
}

func TestContainerExecEndsWithItsContainer(t *testing.T) {
	before, files := processes(t), descriptors(t)
	p := waiting(t)
	var out buffer
	e, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "parent"}, Stdin: true}, &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program has a child", func() bool { return strings.Contains(out.String(), "started") })
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit, err := e.Wait(); err != nil || exit.Code != 137 {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	if got := processes(t); got != before {
		t.Errorf("processes after it: got %d, want %d", got, before)
	}
	if _, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "exit", "0"}}, nil, nil); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("exec in an ended container: got %v, want os.ErrProcessDone", err)
	}
	if got := descriptors(t); got > files {
		t.Errorf("open files: %d, want %d as before", got, files)
	}
}

func TestContainerExecManyAtOnce(t *testing.T) {
	p := waiting(t)
	execute(t, p, nil, nil, "exit", "0")
	before, files := processes(t), descriptors(t)
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			e, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "exit", fmt.Sprint(i)}, TTY: i%2 == 0, Stdin: true}, io.Discard, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if exit, err := e.Wait(); err != nil || exit.Code != i {
				t.Errorf("exit of %d: %+v, %v", i, exit, err)
			}
		})
	}
	all.Wait()
	if got := processes(t); got != before {
		t.Errorf("processes: got %d, want %d as before", got, before)
	}
	if got := descriptors(t); got > files {
		t.Errorf("open files: %d, want %d as before", got, files)
	}
	// The namespaces of the main thread are those that /proc/self shows.
	if _, err := os.Stat("/proc/self/root/" + self); err != nil {
		t.Errorf("the main thread is in the container: %v", err)
	}
}

func TestContainerStdin(t *testing.T) {
	s := spec(t, image(t, nil), "cat")
	s.Stdin = true
	var out buffer
	p := begin(t, s, nil, &out)
	fmt.Fprint(p.Stdin(), "hello ")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit != (Exit{}) || !strings.Contains(out.String(), "hello ") {
		t.Errorf("exit %+v, %v, output %q", exit, err, out.String())
	}
}

// slow is a writer that takes longer for each write than the output may be quiet.
type slow struct{ bytes int }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(60 * time.Millisecond)
	s.bytes += len(p)
	return len(p), nil
}

// A slow reader gets everything, and a process that is left behind with the output open
// does not hold it up for ever.
func TestOutputOfAnEndedProgram(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	to := &slow{}
	out := &output{from: read, to: to}
	var copying sync.WaitGroup
	copying.Go(out.copy)
	const size = 200 << 10
	if _, err := write.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	out.programEnded(30 * time.Millisecond)
	copying.Wait()
	if to.bytes != size {
		t.Errorf("copied %d bytes, want %d", to.bytes, size)
	}
}

// A container that ends while a program starts in it has ended: there is no other error.
func TestContainerExecWhileItEnds(t *testing.T) {
	img := image(t, nil)
	for range 20 {
		p := begin(t, spec(t, img, "wait"), nil, nil)
		killed := make(chan error)
		go func() { killed <- p.Signal(syscall.SIGKILL) }()
		e, err := p.Exec(t.Context(), ExecSpec{Args: []string{probeName, "wait"}}, nil, nil)
		switch {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			t.Errorf("error: %v", err)
		default:
			if exit, err := e.Wait(); err != nil || exit.Signal != syscall.SIGKILL {
				t.Errorf("exit: %+v, %v", exit, err)
			}
		}
		if err := <-killed; err != nil {
			t.Error(err)
		}
		_, _ = p.Wait()
	}
}
