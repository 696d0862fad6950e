package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var (
	devices = []string{"null", "zero", "full", "random", "urandom", "tty"}
	devLink = map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	}

	// The paths of /proc that container runtimes hide or make read-only. The list
	// is Docker's default:
	// https://github.com/moby/moby/blob/v27.0.0/oci/defaults.go
	// Otherwise a program that runs as the machine's root could write kernel
	// settings even without capabilities, because it owns their files.
	hidden   = []string{"acpi", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"}
	readOnly = []string{"bus", "fs", "irq", "sys", "sysrq-trigger"}
)

// errOuterProc is the error of a container that could reach processes outside it through
// the caller's /proc, for example the files of process 1 as /proc/1/root.
var errOuterProc = errors.New("added capabilities or a place beside another container need a new /proc, " +
	"but the kernel forbids a new /proc, commonly because parts of the caller's own are hidden as in a container")

// mountKernelFiles mounts /proc and /dev below the root of the container.
func (o order) mountKernelFiles() error {
	outer, err := mountProc(filepath.Join(o.Spec.Root, "proc"))
	if err != nil {
		return err
	}
	if outer && (o.Beside || len(o.Spec.Capabilities) > 0) {
		return errOuterProc
	}
	return mountDev(filepath.Join(o.Spec.Root, "dev"))
}

// mountProc mounts a new /proc, or the caller's if the kernel forbids that. It reports
// whether that is so.
func mountProc(target string) (outer bool, err error) {
	if err := os.Mkdir(target, 0o555); err != nil {
		return false, fmt.Errorf("create the mount point of /proc: %w", err)
	}
	err = unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if outer = errors.Is(err, unix.EPERM); outer {
		// In a user namespace the kernel refuses a new /proc if parts of the
		// caller's own are hidden, for example in a container.
		err = bind("/proc", target, true)
	}
	if err != nil {
		return false, fmt.Errorf("mount /proc: %w", err)
	}
	for _, name := range readOnly {
		if err := restrict(filepath.Join(target, name), func(at string) error { return bind(at, at, true) }); err != nil {
			return false, err
		}
	}
	for _, name := range hidden {
		if err := restrict(filepath.Join(target, name), hide); err != nil {
			return false, err
		}
	}
	return outer, nil
}

// restrict applies f to a path if the kernel has it.
func restrict(at string, f func(string) error) error {
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := f(at); err != nil {
		return fmt.Errorf("restrict /proc: %w", err)
	}
	return nil
}

func hide(at string) error {
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return mountTmpfs("hidden", at, unix.MS_RDONLY, "size=0")
	}
	return bind("/dev/null", at, false)
}

func mountDev(target string) error {
	if err := os.Mkdir(target, 0o755); err != nil {
		return fmt.Errorf("create the mount point of /dev: %w", err)
	}
	if err := mountTmpfs("dev", target, unix.MS_NOEXEC, "mode=0755,size=64k"); err != nil {
		return err
	}
	for _, name := range devices {
		at := filepath.Join(target, name)
		if err := createFile(at); err != nil {
			return err
		}
		if err := bind(filepath.Join("/dev", name), at, false); err != nil {
			return err
		}
	}
	for name, to := range devLink {
		if err := os.Symlink(to, filepath.Join(target, name)); err != nil {
			return fmt.Errorf("link /dev/%s: %w", name, err)
		}
	}
	pts, shm := filepath.Join(target, "pts"), filepath.Join(target, "shm")
	for _, dir := range []string{pts, shm} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("create a mount point in /dev: %w", err)
		}
	}
	// The container's own terminals, as in container runtimes.
	if err := unix.Mount("devpts", pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	// 64 MiB is Docker's and Kubernetes' default.
	return mountTmpfs("shm", shm, unix.MS_NODEV|unix.MS_NOEXEC, "mode=1777,size=64m")
}
