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
	// checkArg, after InitArg, selects the part of Check inside the namespaces.
	checkArg = "check"

	orderFD, reportFD, terminalFD = 3, 4, 5
)

// Init is the part of Start that runs inside the container. main calls it first when
// os.Args[1] is InitArg. On success it does not return, because the process becomes
// the container's program; only after a rehearsal of Check it returns nil. The caller
// of Start gets a *StartError itself, so main only exits with a code other than 0; main
// prints any other error.
func Init() error {
	if len(os.Args) > 2 && os.Args[2] == checkArg {
		return checkInside()
	}
	// Capabilities and no_new_privs belong to a thread, and the program inherits
	// those of the thread that calls exec.
	runtime.LockOSThread()
	if err := unix.CloseRange(orderFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files on exec: %w (Linux 5.12 or later is required)", err)
	}
	to := os.NewFile(reportFD, "report")
	var o order
	if err := json.NewDecoder(os.NewFile(orderFD, "order")).Decode(&o); err != nil {
		return fmt.Errorf("read the order (the sandbox runs %s, do not run it by hand): %w", InitArg, err)
	}

	prepare := o.create
	if o.Join {
		prepare = o.enter
	}
	if err := prepare(); err != nil {
		return refuse(to, o, ReasonCreate, err)
	}
	report{Executing: true, Mounts: mountNamespace()}.write(to)
	if o.Rehearse {
		return nil
	}
	return refuse(to, o, ReasonRun, o.execute())
}

func refuse(to *os.File, o order, reason string, err error) error {
	report{Reason: reason, Message: err.Error(), Code: exitCode(err)}.write(to)
	return &StartError{Reason: reason, ID: o.Spec.ID, Err: err}
}

// create turns the calling thread's namespaces into the container.
func (o order) create() error {
	spec := o.Spec
	unix.Umask(0o022)
	if err := o.buildRoot(); err != nil {
		return err
	}
	if err := enterRoot(spec.Root); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("set the host name %q: %w", spec.Hostname, err)
	}
	if spec.TTY {
		if err := becomeTerminal(spec, terminalFD); err != nil {
			return err
		}
	}
	return o.becomeProgram()
}

// becomeProgram enters the working directory and becomes the program's user.
func (o order) becomeProgram() error {
	spec := o.Spec
	// Before the change of the user: only root may be allowed to enter it.
	if err := unix.Chdir(path.Join("/", spec.Dir)); err != nil {
		return fmt.Errorf("enter the working directory %s: %w", spec.Dir, err)
	}
	return becomeUser(spec)
}

// execute replaces the process by the program.
func (o order) execute() error {
	env := environment(o.Spec)
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

// The reasons of a StartError, which are kubelet's.
const (
	// ReasonCreate: its root, mounts or namespaces could not be created.
	ReasonCreate = "CreateContainerError"
	// ReasonRun: the program could not be run in it.
	ReasonRun = "RunContainerError"
)

// StartError is the error of a container that did not start.
type StartError struct {
	// Reason is ReasonCreate or ReasonRun.
	Reason string
	// ID identifies the container.
	ID string
	// Code is the exit code of a shell for a program that cannot be run: 127 if it
	// does not exist, otherwise 126.
	Code int
	Err  error
}

func (e *StartError) Error() string {
	verb := "create"
	if e.Reason == ReasonRun {
		verb = "run"
	}
	return fmt.Sprintf("%s container %s: %v", verb, e.ID, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// order is the message from Start to Init.
type order struct {
	Spec Spec
	// Address is the container's IP address, for /etc/hosts; it may be empty.
	Address string
	// Rehearse ends Init before it runs the program.
	Rehearse bool
	// Join is set when the process is in the namespaces and the root of a running
	// container already.
	Join bool
	// Beside is set when the process is in another container's PID namespace.
	Beside bool
}

// report is the message from Init to Start. The last one counts. Executing is sent
// before exec, because a successful exec ends Init.
type report struct {
	Executing bool `json:",omitempty"`
	// Mounts is the number of the mount namespace.
	Mounts          uint64 `json:",omitempty"`
	Reason, Message string `json:",omitempty"`
	Code            int    `json:",omitempty"`
}

// readReport reads reports until the pipe is closed, which exec does. If the program runs, it
// returns the number of its mount namespace.
func readReport(r io.Reader, id string) (mounts uint64, err error) {
	var last report
	for decoder := json.NewDecoder(r); ; {
		err := decoder.Decode(&last)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, &StartError{Reason: ReasonCreate, ID: id, Err: fmt.Errorf("read the report of %s: %w", InitArg, err)}
		}
	}
	switch {
	case last.Reason != "":
		return 0, &StartError{Reason: last.Reason, ID: id, Code: last.Code, Err: errors.New(last.Message)}
	case !last.Executing:
		return 0, &StartError{Reason: ReasonCreate, ID: id, Err: errEarlyEnd}
	}
	return last.Mounts, nil
}

// errEarlyEnd means that Init was killed, or that main did not call it.
var errEarlyEnd = errors.New(InitArg + " ended before it ran the program")

// write sends a report. It ignores errors: the caller may be gone.
func (r report) write(w *os.File) {
	_ = json.NewEncoder(w).Encode(r)
}
