package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

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
