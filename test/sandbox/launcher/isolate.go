package launcher

import (
	"os"
	"syscall"
)

// isolated are the attributes of the supervisor's process: namespaces of its
// own for processes, mounts, network and IPC, and a session of its own so that
// a terminal's Ctrl-C does not reach it. Who is not root gets a user namespace
// in which he is.
func isolated(uid int) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
	}
	if uid != 0 {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attributes
}
