package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/network"
)

// Isolation returns the attributes of a program that runs containers without touching
// the machine: new PID, mount and network namespaces and, unless the caller is root, a
// user namespace in which the caller is mapped to user 0.
//
// The program's /proc is still that of the caller's PID namespace. The program must
// mount its own before it starts a process in a user namespace and before it relies on
// a process id under /proc.
func Isolation() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// Check tries everything that a container needs under Isolation: namespaces, mounts, a
// pod's network. The error names what this machine forbids and the setting that
// commonly forbids it. Check leaves nothing behind.
func Check(ctx context.Context) error {
	settings := readSettings()
	cmd := exec.CommandContext(ctx, self, InitArg, checkArg)
	cmd.SysProcAttr = Isolation()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Start()
	if err != nil {
		return forbidden(namespaceError(err), settings)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("try a container: %w", ctx.Err())
		}
		message := strings.TrimSpace(output.String())
		if message == "" {
			message = err.Error()
		}
		return forbidden(errors.New(message), settings)
	}
	return nil
}

// checkInside is the part of Check that runs in the namespaces.
func checkInside() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	dir := os.TempDir()
	if err := mountTmpfs("check", dir, 0, ""); err != nil {
		return err
	}
	spec := Spec{
		ID: "check", Hostname: "check", Args: []string{"none"}, ReadOnlyRoot: true,
		Image: filepath.Join(dir, "image"), Root: filepath.Join(dir, "root"),
	}
	for _, made := range []string{spec.Image, spec.Root} {
		if err := os.Mkdir(made, 0o755); err != nil {
			return fmt.Errorf("create a directory in a tmpfs: %w", err)
		}
	}
	bridge, err := network.NewBridge("check", netip.MustParsePrefix("192.0.2.1/24"))
	if err != nil {
		return err
	}
	ns, err := bridge.Attach("check")
	if err != nil {
		return err
	}
	process, err := start(context.Background(), order{Spec: spec, Rehearse: true}, ns, nil, nil)
	if err != nil {
		return errors.Join(err, ns.Close())
	}
	_, err = process.Wait()
	return errors.Join(err, ns.Close())
}

// namespaceError returns the error of the first kind of namespace that cannot be
// created; all is the error of creating them together.
func namespaceError(all error) error {
	for _, kind := range []struct {
		name string
		flag uintptr
	}{
		{"user", unix.CLONE_NEWUSER}, {"PID", unix.CLONE_NEWPID},
		{"mount", unix.CLONE_NEWNS}, {"network", unix.CLONE_NEWNET},
	} {
		attr := Isolation()
		flags := attr.Cloneflags & (unix.CLONE_NEWUSER | kind.flag)
		if flags&kind.flag == 0 {
			continue
		}
		attr.Cloneflags = flags
		cmd := exec.Command(self, InitArg)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("create a %s namespace: %w", kind.name, errors.Unwrap(err))
		}
		// It ends at once, because it receives no order.
		_ = cmd.Wait()
	}
	return fmt.Errorf("create a user, PID, mount and network namespace: %w", all)
}

// setting is a kernel setting that forbids namespaces when it has a value.
type setting struct {
	path, forbids string
	// advice is the command that changes it.
	advice string
	// rootToo is true for a setting that restricts root as well.
	rootToo bool
}

// settings are the kernel settings that commonly forbid namespaces.
var settings = []setting{
	{"kernel.unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1", false},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0", false},
	{"user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000", false},
	{"user.max_pid_namespaces", "0", "sysctl -w user.max_pid_namespaces=15000", true},
	{"user.max_mnt_namespaces", "0", "sysctl -w user.max_mnt_namespaces=15000", true},
	{"user.max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=15000", true},
	{"user.max_uts_namespaces", "0", "sysctl -w user.max_uts_namespaces=15000", true},
	{"user.max_ipc_namespaces", "0", "sysctl -w user.max_ipc_namespaces=15000", true},
}

// readSettings returns the values of the settings that this kernel has.
func readSettings() map[string]string {
	values := map[string]string{}
	for _, s := range settings {
		data, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.path, ".", "/"))
		if err == nil {
			values[s.path] = strings.TrimSpace(string(data))
		}
	}
	return values
}

func forbidden(err error, values map[string]string) error {
	return fmt.Errorf("this machine does not allow containers: %w: %s", err, advice(values, os.Geteuid() == 0))
}

// advice returns instructions for the user, given the settings' values.
func advice(values map[string]string, root bool) string {
	var do []string
	for _, s := range settings {
		if values[s.path] == s.forbids && (s.rootToo || !root) {
			do = append(do, fmt.Sprintf("%s is %s: an administrator can change it with `%s`", s.path, s.forbids, s.advice))
		}
	}
	if len(do) == 0 {
		do = append(do, "no known kernel setting forbids it: the cause is commonly a container's seccomp or AppArmor profile or a missing capability; Linux 5.12 or later is required")
	}
	if !root {
		do = append(do, "or run it as root")
	}
	return strings.Join(do, "; ")
}
