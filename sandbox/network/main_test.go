package network

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside marks the test program that runs in namespaces of its own.
const inside = "NETWORK_TEST_INSIDE"

// TestMain runs the tests in a network namespace of their own, so that they
// touch no interface of the machine, with a user namespace where the caller is
// not root.
func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := mountProc(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	os.Exit(runInside(os.Getuid() != 0))
}

// runInside runs this test program again in namespaces of its own, and returns
// its exit code.
func runInside(userNamespace bool, args ...string) int {
	cmd := exec.Command("/proc/self/exe", append(os.Args[1:], args...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
	}
	if userNamespace {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// mountProc shows the processes of the current PID namespace under /proc: os/exec
// needs them there to set up a user namespace.
func mountProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

func TestInUserNamespace(t *testing.T) {
	if code := runInside(true, "-test.run=^TestBridge", "-test.v=false"); code != 0 {
		t.Errorf("exit code of the tests in a user namespace: %d", code)
	}
}
