package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// InitArg is the first argument of the program that calls Init.
	InitArg = "container-init"
	// checkArg, after it, is the part of Check that happens in namespaces.
	checkArg = "check"

	orderFD, reportFD = 3, 4
)

// Init is the part of Start that happens inside the container: main calls it,
// and nothing before it, when os.Args[1] is InitArg. It does not return when it
// succeeds, because the process becomes the container's program. An error that
// the caller of Start hears of is a *StartError, and main then has only to exit
// with a code that is not 0; any other error is main's to print. Nil (after a
// rehearsal of Check) is exit code 0.
func Init() error {
	if len(os.Args) > 2 && os.Args[2] == checkArg {
		return checkInside()
	}
	// Capabilities and no_new_privs belong to a thread, and the thread that
	// calls exec is the one whose own count.
	runtime.LockOSThread()
	if err := unix.CloseRange(orderFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files on exec: %w (Linux 5.12 or later is needed)", err)
	}
	to := os.NewFile(reportFD, "report")
	var o order
	if err := json.NewDecoder(os.NewFile(orderFD, "order")).Decode(&o); err != nil {
		return fmt.Errorf("read what to run (%s is started by the sandbox itself, not by hand): %w", InitArg, err)
	}

	if err := o.create(); err != nil {
		return refuse(to, o, ReasonCreate, err)
	}
	report{Executing: true}.write(to)
	if o.Rehearse {
		return nil
	}
	return refuse(to, o, ReasonRun, o.execute())
}

func refuse(to *os.File, o order, reason string, err error) error {
	report{Reason: reason, Message: err.Error()}.write(to)
	return &StartError{Reason: reason, ID: o.Spec.ID, Err: err}
}

// create makes the container around the calling thread.
func (o order) create() error {
	spec := o.Spec
	unix.Umask(0o022)
	if err := buildRoot(spec, o.Address); err != nil {
		return err
	}
	if err := enterRoot(spec.Root); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(shortHostname(spec.Hostname))); err != nil {
		return fmt.Errorf("set the host name %q: %w", spec.Hostname, err)
	}
	// Before the user changes: it may be a directory that only root can enter.
	if err := unix.Chdir(path.Join("/", spec.Dir)); err != nil {
		return fmt.Errorf("enter the working directory %s: %w", spec.Dir, err)
	}
	return becomeUser(spec)
}

// execute turns the process into the program.
func (o order) execute() error {
	env := environment(o.Spec.Env, shortHostname(o.Spec.Hostname))
	os.Clearenv()
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set the environment variable %s: %w", name, err)
		}
	}
	program, err := exec.LookPath(o.Spec.Args[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	if err := unix.Exec(program, o.Spec.Args, env); err != nil {
		return fmt.Errorf("exec %q: %w", program, err)
	}
	return nil
}

// Why a container did not start, by the kubelet's names.
const (
	// ReasonCreate: its root, mounts or namespaces could not be made.
	ReasonCreate = "CreateContainerError"
	// ReasonRun: the program could not be run in it.
	ReasonRun = "RunContainerError"
)

// StartError is a container that did not start.
type StartError struct {
	// Reason is ReasonCreate or ReasonRun.
	Reason string
	// ID is the container's.
	ID  string
	Err error
}

func (e *StartError) Error() string {
	verb := "create"
	if e.Reason == ReasonRun {
		verb = "run"
	}
	return fmt.Sprintf("%s container %s: %v", verb, e.ID, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// order is what the caller tells the program that it starts.
type order struct {
	Spec Spec
	// Address is the container's IP address, for /etc/hosts; it may be empty.
	Address string
	// Rehearse stops before the program is run.
	Rehearse bool
}

// report is what comes back. The last one counts: Executing is said before the
// attempt, since nobody can say it after.
type report struct {
	Executing       bool   `json:",omitempty"`
	Reason, Message string `json:",omitempty"`
}

// readReport reads to the end, which comes when the program runs: the pipe is
// closed on exec. It returns nil for a program that runs.
func readReport(r io.Reader, id string) error {
	var last report
	for decoder := json.NewDecoder(r); ; {
		err := decoder.Decode(&last)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &StartError{Reason: ReasonCreate, ID: id, Err: fmt.Errorf("read the report of %s: %w", InitArg, err)}
		}
	}
	switch {
	case last.Reason != "":
		return &StartError{Reason: last.Reason, ID: id, Err: errors.New(last.Message)}
	case !last.Executing:
		return &StartError{Reason: ReasonCreate, ID: id, Err: errEarlyEnd}
	}
	return nil
}

// errEarlyEnd is an Init that was killed, or that main never called.
var errEarlyEnd = errors.New(InitArg + " ended before it ran the program")

// write sends a report; a caller that is gone needs none.
func (r report) write(w *os.File) {
	_ = json.NewEncoder(w).Encode(r)
}
