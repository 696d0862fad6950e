package launcher

import (
	"syscall"

	"open-cluster-management.io/helloworld-addon/sandbox/container"
)

// isolated are the attributes of the supervisor's process: namespaces of its
// own, and a session of its own so that a terminal's Ctrl-C does not reach it.
func isolated() *syscall.SysProcAttr {
	attributes := container.Isolation()
	attributes.Setsid = true
	attributes.Cloneflags |= syscall.CLONE_NEWIPC
	return attributes
}
