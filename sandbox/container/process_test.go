package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestContainerNetwork(t *testing.T) {
	b := bridge(t)
	img := image(t, nil)
	var first *Process
	for i := range 2 {
		ns := attach(t, b)
		var out buffer
		p := begin(t, spec(t, img, "listen"), ns, &out)
		if i == 0 {
			first = p
		}
		eventually(t, "the program listens", func() bool { return strings.Contains(out.String(), "listening") })
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, err := ns.Dial(ctx, probePort)
		if err != nil {
			t.Fatalf("reach container %d on its loopback: %v", i, err)
		}
		conn.Close()
		run(t, spec(t, img, "dial", netip.AddrPortFrom(ns.IP(), probePort).String()), attach(t, b), Exit{})
	}
	if err := first.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the first container no longer runs: %v", err)
	}
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	run(t, spec(t, img, "dial", netip.AddrPortFrom(b.Gateway(), port).String()), attach(t, b), Exit{})
	// The container's loopback is not the node's.
	run(t, spec(t, img, "dial", fmt.Sprintf("127.0.0.1:%d", port)), attach(t, b), Exit{Code: 1})
}

func TestContainersStartTogether(t *testing.T) {
	b, img := bridge(t), image(t, nil)
	const many = 20
	codes := make(chan int, many)
	for i := range many {
		s, ns := spec(t, img, "exit", fmt.Sprint(i)), attach(t, b)
		go func() {
			process, err := Start(t.Context(), s, ns, nil, nil)
			if err != nil {
				t.Error(err)
				codes <- -1
				return
			}
			got, err := process.Wait()
			if err != nil {
				t.Error(err)
			}
			codes <- got.Code
		}()
	}
	sum := 0
	for range many {
		sum += <-codes
	}
	if want := many * (many - 1) / 2; sum != want {
		t.Errorf("sum of the exit codes: got %d, want %d", sum, want)
	}
}

func TestContainerExit(t *testing.T) {
	tests := map[string]struct {
		args   []string
		signal syscall.Signal
		want   Exit
	}{
		"success":                        {args: []string{"exit", "0"}},
		"a code of its own":              {args: []string{"exit", "42"}, want: Exit{Code: 42}},
		"SIGTERM handled":                {args: []string{"handle"}, signal: syscall.SIGTERM, want: Exit{Code: 7}},
		"SIGKILL":                        {args: []string{"handle"}, signal: syscall.SIGKILL, want: Exit{Code: 137, Signal: syscall.SIGKILL}},
		"much output until the last one": {args: []string{"print", "0123456789"}},
	}
	img := image(t, nil)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out buffer
			process := begin(t, spec(t, img, tt.args...), nil, &out)
			if tt.signal != 0 {
				eventually(t, "the program is ready", func() bool { return strings.Contains(out.String(), "ready") })
				if err := process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // Wait may be called again.
				got, err := process.Wait()
				if err != nil || got != tt.want {
					t.Errorf("exit: got %+v, %v, want %+v", got, err, tt.want)
				}
			}
			if tt.args[0] == "print" && len(out.String()) != 1_000_000 {
				t.Errorf("output: got %d bytes, want 1000000", len(out.String()))
			}
			if err := process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signal after the end: got %v, want os.ErrProcessDone", err)
			}
		})
	}
}

func TestContainerKilledLeavesNoChild(t *testing.T) {
	before := processes(t)
	var out buffer
	process := begin(t, spec(t, image(t, nil), "parent"), nil, &out)
	eventually(t, "the program has a child", func() bool { return strings.Contains(out.String(), "started") })
	if got := processes(t); got != before+2 {
		t.Errorf("processes while it runs: got %d, want %d", got, before+2)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := processes(t); got != before {
		t.Errorf("processes after it: got %d, want %d", got, before)
	}
}

// processes counts those of the test's PID namespace.
func processes(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A program beside another container sees its processes but not its files.
func TestContainerBeside(t *testing.T) {
	ns := attach(t, bridge(t))
	target := begin(t, spec(t, image(t, map[string]string{"etc/target": "x"}), "wait"), ns, nil)
	s := spec(t, image(t, nil), "wait")
	s.ID, s.Hostname, s.Beside = "debugger", "pod-1", target
	got := lookIn(t, s, ns, "/proc/1/cmdline", "/etc/target", "/proc/1/root/etc/target")
	if got.PID == 1 || got.Files["/proc/1/cmdline"] != probeName+"\x00wait\x00" || got.Files["/etc/target"] == "x" || got.Files["/proc/1/root/etc/target"] != "x" {
		t.Errorf("the program sees %+v", got)
	}
	if !slices.Equal(got.Addresses, []string{ns.IP().String() + "/24", "127.0.0.1/8"}) {
		t.Errorf("addresses: %v", got.Addresses)
	}

	before := running(t)
	s.Root, s.Args = t.TempDir(), []string{probeName, "parent"}
	var out buffer
	p := begin(t, s, ns, &out)
	eventually(t, "it has a child", func() bool { return strings.Contains(out.String(), "started") })
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	eventually(t, "the child ends with it", func() bool { return running(t) == before })
	if err := target.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other container has ended: %v", err)
	}

	s.Root, s.Args = t.TempDir(), []string{probeName, "wait"}
	p = begin(t, s, ns, nil)
	if err := target.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("exit at the end of the other container: %+v, %v", exit, err)
	}
	s.Root = t.TempDir()
	if _, err := Start(t.Context(), s, ns, nil, nil); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("start beside a container that has ended: %v", err)
	}
}

type fullDisk struct{ writes int }

func (d *fullDisk) Write([]byte) (int, error) {
	d.writes++
	return 0, syscall.ENOSPC
}

func TestContainerOutlivesItsLog(t *testing.T) {
	for _, tty := range []bool{false, true} {
		disk := &fullDisk{}
		s := spec(t, image(t, nil), "print", "0123456789")
		s.TTY = tty
		process := begin(t, s, nil, disk)
		got, err := process.Wait()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("terminal %t: error: got %v, want ENOSPC", tty, err)
		}
		if (got != Exit{}) {
			t.Errorf("terminal %t: exit: got %+v, want success", tty, got)
		}
		if disk.writes != 1 {
			t.Errorf("terminal %t: writes to a writer that failed: got %d, want 1", tty, disk.writes)
		}
	}
}

func TestContainerWritesToAFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	process := begin(t, spec(t, image(t, nil), "print", "x"), nil, file)
	if got, err := process.Wait(); err != nil || got != (Exit{}) {
		t.Errorf("exit: got %+v, %v, want success", got, err)
	}
	if info, err := file.Stat(); err != nil || info.Size() != 100_000 {
		t.Errorf("log: got %v, %v, want 100000 bytes", info.Size(), err)
	}
}

func TestContainerStartGivenUp(t *testing.T) {
	before := processes(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, spec(t, image(t, nil), "wait"), nil, nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error: got %v, want context.Canceled", err)
	}
	eventually(t, "no process is left", func() bool { return processes(t) == before })
}
