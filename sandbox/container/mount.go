package container

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bind makes source appear at target too, with what is mounted below it: in a
// user namespace the kernel refuses to show a directory without the mounts that
// cover parts of it.
func bind(source, target string, readOnly bool) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	if readOnly {
		return setReadOnly(target, unix.AT_RECURSIVE)
	}
	return nil
}

// setReadOnly adds the one attribute to a mount. A remount, as older kernels want
// it, would have to repeat the attributes that a user namespace locks.
func setReadOnly(target string, flags uint) error {
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, flags, attr); err != nil {
		return fmt.Errorf("make the mount at %s read-only (mount_setattr, Linux 5.12): %w", target, err)
	}
	return nil
}

func mountTmpfs(name, target string, flags uintptr, options string) error {
	if err := unix.Mount(name, target, "tmpfs", unix.MS_NOSUID|flags, options); err != nil {
		return fmt.Errorf("mount a tmpfs at %s: %w", target, err)
	}
	return nil
}
