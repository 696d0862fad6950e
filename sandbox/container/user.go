package container

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

// becomeUser changes to the spec's user and groups and drops all capabilities that the
// spec does not name. The order matters: each step needs permissions that a later step
// drops.
func becomeUser(spec Spec) error {
	kept, err := capabilities(spec.Capabilities)
	if err != nil {
		return err
	}
	caps, err := capability.NewPid2(0)
	if err != nil {
		return fmt.Errorf("prepare the capabilities: %w", err)
	}
	caps.Set(capability.BOUNDS, kept...)
	if err := caps.Apply(capability.BOUNDS | capability.AMBS); err != nil {
		return fmt.Errorf("drop capabilities from the bounding set: %w", err)
	}
	givePipes(spec)
	if err := setIDs(spec); err != nil {
		return err
	}
	if err := keep(caps, kept); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// keep reduces the capabilities to those that are both present and wanted. A user other
// than 0 has none at this point. User 0 keeps over exec those that it has and that the
// bounding set allows (capabilities(7)).
func keep(caps capability.Capabilities, kept []capability.Cap) error {
	had, err := capability.NewPid2(0)
	if err != nil {
		return fmt.Errorf("prepare the capabilities: %w", err)
	}
	if err := had.Load(); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	for _, c := range kept {
		if had.Get(capability.PERMITTED, c) {
			caps.Set(capability.PERMITTED|capability.EFFECTIVE, c)
		}
	}
	if err := caps.Apply(capability.CAPS); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// setIDs changes to the spec's user and groups as far as the user namespace maps them.
func setIDs(spec Spec) error {
	setgroups, err := os.ReadFile("/proc/self/setgroups")
	if err != nil {
		return fmt.Errorf("read the setgroups permission: %w", err)
	}
	gids, err := os.ReadFile("/proc/self/gid_map")
	if err != nil {
		return fmt.Errorf("read the mapped groups: %w", err)
	}
	uids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return fmt.Errorf("read the mapped users: %w", err)
	}
	if strings.TrimSpace(string(setgroups)) == "allow" {
		groups := []int{}
		for _, gid := range spec.Groups {
			if mapped(string(gids), gid) {
				groups = append(groups, gid)
			}
		}
		if err := syscall.Setgroups(groups); err != nil {
			return fmt.Errorf("set the groups %v: %w", groups, err)
		}
	}
	if mapped(string(gids), spec.GID) {
		if err := syscall.Setresgid(spec.GID, spec.GID, spec.GID); err != nil {
			return fmt.Errorf("set the group %d: %w", spec.GID, err)
		}
	}
	if mapped(string(uids), spec.UID) {
		if err := syscall.Setresuid(spec.UID, spec.UID, spec.UID); err != nil {
			return fmt.Errorf("set the user %d: %w", spec.UID, err)
		}
	}
	return nil
}

// givePipes makes the user the owner of the pipes, so that the program can open, for
// example, /dev/stdout. It ignores errors: most programs do not need this.
func givePipes(spec Spec) {
	for fd := 0; fd <= 2; fd++ {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.Fchown(fd, spec.UID, spec.GID)
		}
	}
}
