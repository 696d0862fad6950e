package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// inside marks the test program that runs in namespaces of its own; its
	// value says in which.
	inside     = "CONTAINER_TEST_INSIDE"
	asRoot     = "root"
	asUser     = "user namespace"
	noNetworks = "user namespace without network namespaces"
	hiddenProc = "user namespace with parts of /proc hidden"
)

// TestMain is the three programs of the tests: the test itself, in namespaces of
// its own so that nothing of the machine is touched; the one that Start starts
// again; and the probe that runs in the containers.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == probeName:
		os.Exit(probe(os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == InitArg:
		if err := Init(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	var err error
	switch os.Getenv(inside) {
	case "":
		kind := asRoot
		if os.Geteuid() != 0 {
			kind = asUser
		}
		os.Exit(runInside(kind))
	case noNetworks:
		// As a machine whose administrator forbids them.
		err = os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("0"), 0o644)
	default:
		err = mountOwnProc()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runInside runs this test program again in namespaces of its own, and returns
// its exit code.
func runInside(kind string, args ...string) int {
	cmd := exec.Command(self, append(os.Args[1:], args...)...)
	cmd.Env = append(os.Environ(), inside+"="+kind)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = Isolation()
	if attr := cmd.SysProcAttr; kind != asRoot && attr.UidMappings == nil {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// mountOwnProc shows the processes of the current PID namespace under /proc. A
// /proc with hidden parts is kept, and the kernel is asked for no other.
func mountOwnProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if os.Getenv(inside) == hiddenProc {
		return nil
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

func inUserNamespace() bool { return os.Getenv(inside) != asRoot }

// The same tests as a user who is not root would have them.
func TestInUserNamespace(t *testing.T) {
	if code := runInside(asUser, "-test.run=^TestContainer|^TestCheck$", "-test.v=false"); code != 0 {
		t.Errorf("exit code of the tests in a user namespace: %d", code)
	}
}

// A user namespace inside a container whose /proc has parts hidden is given no
// fresh /proc.
func TestWithPartsOfProcHidden(t *testing.T) {
	if err := unix.Mount("tmpfs", "/proc/fs", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount("/proc/fs", unix.MNT_DETACH) }()
	if err := os.Mkdir("/proc/fs/hidden", 0o755); err != nil {
		t.Fatal(err)
	}
	if code := runInside(hiddenProc, "-test.run=^TestContainerSees", "-test.v=false"); code != 0 {
		t.Errorf("exit code of the tests with a part of /proc hidden: %d", code)
	}
}

func TestWithoutNetworkNamespaces(t *testing.T) {
	if code := runInside(noNetworks, "-test.run=^TestRefusedCheck$", "-test.v=false"); code != 0 {
		t.Errorf("exit code of the tests without network namespaces: %d", code)
	}
}
