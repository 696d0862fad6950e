package container

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/network"
)

const patience = 20 * time.Second

// image makes an image with the probe in /usr/local/bin and these files;
// a name that ends in a slash is an empty directory, content after -> a link.
func image(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	for name, content := range files {
		at := filepath.Join(dir, name)
		mkdir(t, filepath.Dir(at))
		var err error
		if to, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(to, at)
		} else if strings.HasSuffix(name, "/") {
			mkdir(t, at)
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mkdir(t, filepath.Join(dir, "usr/local/bin"))
	copyProbe(t, filepath.Join(dir, "usr/local/bin", probeName))
	return dir
}

func copyProbe(t *testing.T, target string) {
	t.Helper()
	program, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if linked, err := elf.NewFile(program); err != nil {
		t.Fatal(err)
	} else if libraries, _ := linked.ImportedLibraries(); len(libraries) > 0 {
		t.Fatal("the test program needs shared libraries, which no image has: run the tests with CGO_ENABLED=0")
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, program); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// spec is a container that runs the probe in an image.
func spec(t *testing.T, image string, args ...string) Spec {
	t.Helper()
	return Spec{
		ID: "test", Hostname: "pod-1", Image: image, Root: t.TempDir(),
		UID: 65532, GID: 65532, Groups: []int{2000},
		Args: append([]string{probeName}, args...),
	}
}

// lookIn runs a container that looks at what is asked for.
func lookIn(t *testing.T, s Spec, ns *network.Namespace, asked ...string) seen {
	t.Helper()
	s.Args = append([]string{probeName, "look"}, asked...)
	out := run(t, s, ns, Exit{})
	var got seen
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("read what the probe saw: %v\n%s", err, out)
	}
	return got
}

// run runs a container to its end and returns its output.
func run(t *testing.T, s Spec, ns *network.Namespace, want Exit) string {
	t.Helper()
	var out buffer
	process := begin(t, s, ns, &out)
	got, err := process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("exit: got %+v, want %+v; output:\n%s", got, want, out.String())
	}
	return out.String()
}

// begin starts a container that the test's end kills.
func begin(t *testing.T, s Spec, ns *network.Namespace, out io.Writer) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process, err := Start(ctx, s, ns, out, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_, _ = process.Wait()
	})
	return process
}

// bridge makes the network of a test.
func bridge(t *testing.T) *network.Bridge {
	t.Helper()
	b, err := network.NewBridge("br-test", netip.MustParsePrefix("10.201.1.1/24"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func attach(t *testing.T, b *network.Bridge) *network.Namespace {
	t.Helper()
	ns, err := b.Attach(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Close(); err != nil {
			t.Error(err)
		}
	})
	return ns
}

// buffer is a writer that a test reads meanwhile.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}
