// Package container runs one program in a root directory and in namespaces of
// its own, as a container runtime does, from an ordinary directory as the image.
// It knows nothing of Kubernetes.
//
// # What a program sees
//
//   - Its own PID, mount, UTS and IPC namespace, and the network namespace that
//     the caller gives. It is process 1: when it ends, all its descendants end,
//     and a SIGTERM that it does not handle is ignored, as everywhere. With
//     Spec.Beside it is a further process in another container's PID namespace.
//   - As root directory a tmpfs in which the directories and files of the image are
//     mounted read-only. A directory in which a mount point is needed, and an
//     empty directory of the image, is on the tmpfs instead, with the image's
//     mode and owner. Only /proc, /dev, /etc/hosts, hostname and resolv.conf, and
//     a /tmp for all users unless the image has one, are added.
//   - A new /proc with the usual paths masked or read-only; if the kernel forbids
//     that, the caller's /proc, read-only, but not for a container with capabilities or
//     Spec.Beside, which does not start then. In /dev null, zero, full, random,
//     urandom, tty, ptmx, pts, shm, fd, stdin, stdout, stderr. With Spec.TTY a terminal
//     of its own as input and output.
//   - The user and groups that the caller names, no_new_privs, and no capability
//     but those that the caller names. A caller that is not root has a user
//     namespace with one mapped user: there the program runs as that user (0
//     inside), without capabilities, and keeps the supplementary groups.
//
// # What it does not do
//
// No cgroups, so no limits and no memory accounting; no seccomp or LSM profile;
// no /sys, no checkpoint; changes to files of the image fail instead of being copied
// up. It is a fence between programs that trust each other, not a defence.
//
// # Further programs
//
// [Process.Exec] runs a further program in a container. A thread of the caller joins the
// container's namespaces and starts the caller's program again there. That changes to the
// container's user and becomes the further program. The caller is its parent and sees its
// exit code.
//
// # What the caller needs
//
// CAP_SYS_ADMIN over its user and mount namespaces, Linux 5.12 (mount_setattr),
// and a main function that calls [Init] when its first argument is [InitArg]:
// the program starts itself again for the part that must happen inside the new
// namespaces. [Check] reports whether the machine allows all of it.
package container
