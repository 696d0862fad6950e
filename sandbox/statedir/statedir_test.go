package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestAcquire(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	first, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.Leftover {
		t.Error("a new directory has no leftovers")
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrRunning) {
		t.Errorf("a second Acquire = %v, want %v", err, ErrRunning)
	}
	leftover := filepath.Join(dir, "hub", "etcd")
	if err := os.MkdirAll(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	_ = first.Lock.Close() // as the kernel does when the holder dies
	again, err := Acquire(dir)
	if err != nil {
		t.Fatalf("Acquire of a crashed sandbox's directory: %v", err)
	}
	if _, err := os.Stat(leftover); !again.Leftover || !os.IsNotExist(err) {
		t.Errorf("leftover = %v, stat = %v: the crashed sandbox's files should be gone", again.Leftover, err)
	}
}

func TestAcquireRefusesWhatIsNotASandbox(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir); err == nil || !strings.Contains(err.Error(), "SANDBOX_DIR") {
		t.Errorf("Acquire = %v, want one that says to set SANDBOX_DIR", err)
	}
	if _, err := Remove(dir); err == nil {
		t.Error("Remove removed a directory that is not a sandbox's")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestEnoughSpace(t *testing.T) {
	err := enoughSpace("/full", func(string) (uint64, error) { return 100 << 20, nil })
	if err == nil || !strings.Contains(err.Error(), "has 100 MiB free, a sandbox needs 1024") {
		t.Errorf("enoughSpace = %v", err)
	}
	if err := enoughSpace("/fine", func(string) (uint64, error) { return needed, nil }); err != nil {
		t.Errorf("enoughSpace = %v", err)
	}
}

func TestRemoveAnEmptyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if removed, err := Remove(dir); err != nil || !removed {
		t.Errorf("Remove = %v, %v", removed, err)
	}
}

// TestRemoveSideBySide has one directory removed several times at once, as by a start that was interrupted and a
// call of `down`.
func TestRemoveSideBySide(t *testing.T) {
	for range 30 {
		path := filepath.Join(t.TempDir(), "sandbox")
		d, err := Acquire(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 { // which takes a while to remove
			if err := os.MkdirAll(filepath.Join(path, "hub", fmt.Sprint(i), "logs"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Lock.Close(); err != nil {
			t.Fatal(err)
		}
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				_, err := Remove(path)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the directory is left: %v", err)
		}
	}
}

// TestRemoveBesideStarts checks that a start that has acquired the directory keeps it, while other calls remove what
// earlier starts have left.
func TestRemoveBesideStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox")
	starting, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	for range 3 {
		group.Go(func() error {
			for starting.Err() == nil {
				if _, err := Remove(path); err != nil {
					return err
				}
			}
			return nil
		})
	}
	acquired := 0
	for range 2000 {
		d, err := Acquire(path)
		if err != nil {
			continue // the directory is being removed
		}
		acquired++
		time.Sleep(100 * time.Microsecond)
		if _, err := os.Stat(filepath.Join(path, recordFile)); err != nil {
			t.Errorf("a directory that a start has acquired: %v", err)
		}
		_ = d.Lock.Close()
	}
	stop()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("acquired %d times", acquired)
	if acquired == 0 {
		t.Error("no start has acquired the directory")
	}
}

func TestRemoveDirectoriesThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	d, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Lock.Close()
	locked := filepath.Join(dir, "pod", "volume")
	if err := os.MkdirAll(filepath.Join(locked, "file"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	if removed, err := Remove(dir); err != nil || !removed {
		t.Errorf("Remove = %v, %v", removed, err)
	}
}

func TestAcquireSaysWhatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(filepath.Join(file, "sandbox")); err == nil || !strings.Contains(err.Error(), "SANDBOX_DIR") {
		t.Errorf("Acquire = %v, want one that says to set SANDBOX_DIR", err)
	}
}

func TestRemoveEndsTheRecordedProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	d, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{d.Lock} // it holds the lock, as the supervisor does
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = d.Lock.Close()
	record := Record{PID: cmd.Process.Pid}
	record.StartTime, _ = ProcessStart(record.PID)
	if err := d.Write(record); err != nil {
		t.Fatal(err)
	}
	removed, err := Remove(dir)
	if err != nil || !removed {
		t.Fatalf("Remove = %v, %v", removed, err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v, want killed", err)
	}
	if removed, err := Remove(dir); err != nil || removed {
		t.Errorf("a second Remove = %v, %v, want nothing to do", removed, err)
	}
}

func TestRemoveSparesAProcessThatReusesTheNumber(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sandbox")
	d, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	start, alive := ProcessStart(os.Getpid())
	if !alive {
		t.Fatal("this process is not in /proc")
	}
	if err := d.Write(Record{PID: os.Getpid(), StartTime: start - 1}); err != nil {
		t.Fatal(err)
	}
	_ = d.Lock.Close()
	if removed, err := Remove(dir); err != nil || !removed {
		t.Errorf("Remove = %v, %v", removed, err)
	}
}

func TestParseStat(t *testing.T) {
	for _, test := range []struct {
		name, stat string
		want       uint64
		ok         bool
	}{
		{"a name with spaces and parentheses", "42 (a (b) c) S 1 42 42 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 9 0 206098 7 8", 206098, true},
		{"cut short", "42 (a) S 1 42", 0, false},
		{"empty", "", 0, false},
	} {
		if got, ok := parseStat([]byte(test.stat)); got != test.want || ok != test.ok {
			t.Errorf("%s: parseStat = %d, %v, want %d, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestStatusBytes(t *testing.T) {
	status := []byte("Name:\tetcd\nVmRSS:\t   45000 kB\nRssAnon:\t 20000 kB\nThreads:\t9\n")
	for field, want := range map[string]int64{"VmRSS": 45000 << 10, "RssAnon": 20000 << 10, "VmSwap": 0, "Name": 0} {
		if got := statusBytes(status, field); got != want {
			t.Errorf("%s = %d, want %d", field, got, want)
		}
	}
	if rss, private := ProcessMemory(os.Getpid()); rss < 1<<20 || private <= 0 || private > rss {
		t.Errorf("this process has %d bytes resident, %d of them private", rss, private)
	}
}

func TestProcessesWith(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"OTHER=1", "OCM_FLEET=/sandbox/fleet.json"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for variable, want := range map[string]bool{
		"OCM_FLEET=/sandbox/fleet.json": true, "OCM_FLEET=/sandbox/fleet": false, "FLEET=/sandbox/fleet.json": false,
	} {
		found := slices.ContainsFunc(ProcessesWith(variable), func(p Process) bool { return p.PID == cmd.Process.Pid && p.Args[0] == "sleep" })
		if found != want {
			t.Errorf("ProcessesWith(%q) finds the process = %v, want %v", variable, found, want)
		}
	}
}
