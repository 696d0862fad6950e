package supervisor

import (
	"fmt"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// Isolate finishes what the clone flags began: mounts made from here on are
// seen by nobody outside, and /proc shows the sandbox's own processes.
func Isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the sandbox's mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		// Inside a container the kernel may refuse this to a user namespace. The
		// outer /proc does as well: nothing here looks processes up by number.
		klog.InfoS("Keeping the outer /proc", "reason", err.Error())
	}
	return nil
}
