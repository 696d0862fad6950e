package container

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/capability"
)

// Spec configures a container.
type Spec struct {
	// ID names the container in the mount table and in errors.
	ID string
	// Hostname has at most 64 bytes, the kernel's limit.
	Hostname string

	// Image is the directory with the image's root file system. It is never
	// written to.
	Image string
	// Root is an empty directory on which the container's root is mounted, in the
	// container's mount namespace. Outside that the directory stays empty.
	Root string
	// ReadOnlyRoot makes the root read-only; it does not affect Mounts.
	ReadOnlyRoot bool
	// Mounts are mounted in order.
	Mounts []Mount

	// Args is the program and its arguments. A program without a slash is
	// looked up in the PATH of Env inside the container.
	Args []string
	// Env is the environment as NAME=value. PATH, HOME and HOSTNAME have defaults.
	Env []string
	// Stdin gives the program an input, see Process.Stdin. Otherwise it reads /dev/null.
	Stdin bool
	// TTY gives the program a terminal of the container as input and output. All output is
	// written to stdout then.
	TTY bool
	// Dir is the working directory, by default /. It is created if necessary.
	Dir string

	// UID, GID and Groups are the program's user and groups. An id that the user
	// namespace does not map becomes 0.
	UID, GID int
	Groups   []int
	// Capabilities are those that the program keeps, by Kubernetes' names, for
	// example NET_BIND_SERVICE. All others are dropped. As in Kubernetes, a program
	// that does not run as user 0 has none.
	Capabilities []string

	// Beside is a running container whose PID namespace the program shares, nil for a PID
	// namespace of its own. When that container ends, the program ends as well. When the
	// program ends, its process group ends; other descendants may go on until then.
	Beside *Process `json:"-"`

	// HostNames are the names of the container's own address in /etc/hosts, by default
	// Hostname.
	HostNames []string
	// Hosts are additional lines of /etc/hosts.
	Hosts []Host
	// ResolvConf is the content of /etc/resolv.conf. If it is empty, no name is
	// resolved.
	ResolvConf string
}

// Mount mounts a file or directory of the caller in the container.
type Mount struct {
	// Source must exist at the start. A symbolic link is resolved then, once.
	Source string
	// Target is a path in the container. If it does not exist, it is created in the
	// container's own root, never in the image.
	Target   string
	ReadOnly bool
}

// Host is a line of /etc/hosts.
type Host struct {
	IP    string
	Names []string
}

// validate returns an error that joins everything that is invalid in the spec.
func (s Spec) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if len(s.Args) == 0 || s.Args[0] == "" {
		bad("no program to run: name it as the first of the arguments")
	}
	for _, path := range []struct{ name, value string }{{"image", s.Image}, {"root", s.Root}} {
		if !filepath.IsAbs(path.value) {
			bad("%s directory %q is not an absolute path", path.name, path.value)
		}
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		bad("working directory %q is not an absolute path", s.Dir)
	}
	for _, m := range s.Mounts {
		errs = append(errs, m.validate())
	}
	for _, entry := range s.Env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			bad("environment entry %q is not of the form NAME=value", entry)
		}
	}
	for _, text := range slices.Concat(s.Args, s.Env) {
		if strings.ContainsRune(text, 0) {
			bad("%q contains a NUL byte", text)
		}
	}
	for _, id := range append([]int{s.UID, s.GID}, s.Groups...) {
		if id < 0 {
			bad("user or group id %d is negative", id)
		}
	}
	_, err := capabilities(s.Capabilities)
	return errors.Join(append(errs, err)...)
}

func (m Mount) validate() error {
	var errs []error
	if !filepath.IsAbs(m.Source) {
		errs = append(errs, fmt.Errorf("mount source %q (for %q) is not an absolute path", m.Source, m.Target))
	}
	if !filepath.IsAbs(m.Target) || filepath.Clean(m.Target) == "/" {
		errs = append(errs, fmt.Errorf("mount target %q is not an absolute path below /", m.Target))
	}
	return errors.Join(errs...)
}

// capabilities converts names, for example NET_BIND_SERVICE, CAP_NET_BIND_SERVICE or
// ALL.
func capabilities(names []string) ([]capability.Cap, error) {
	var kept []capability.Cap
	var errs []error
	known := capability.ListKnown()
	for _, name := range names {
		short := strings.ToLower(strings.TrimPrefix(name, "CAP_"))
		if short == "all" {
			return known, nil
		}
		i := slices.IndexFunc(known, func(c capability.Cap) bool { return c.String() == short })
		if i < 0 {
			errs = append(errs, fmt.Errorf("unknown capability %q: use a name such as NET_BIND_SERVICE", name))
			continue
		}
		kept = append(kept, known[i])
	}
	return kept, errors.Join(errs...)
}
