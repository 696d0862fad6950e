package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/test/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/test/sandbox/supervisor"
)

// The descriptors that launcher hands to the supervisor.
const (
	lockFD = iota + 3
	progressFD
	firstListenerFD
)

// superviseCommand is what `up` runs inside the namespaces.
func superviseCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise CLUSTER...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, clusters []string) error {
			listeners, err := inherit(len(clusters))
			if err != nil {
				return err
			}
			if err := supervisor.Isolate(); err != nil {
				return err
			}
			return supervisor.Run(cmd.Context(), supervisor.Options{
				Dir: options.Dir, Programs: options.Programs, Clusters: clusters, Outside: listeners,
				Progress: supervisor.NewProgress(os.NewFile(progressFD, "progress")),
			})
		},
	}
}

// inherit makes sure that no program of the sandbox gets the descriptors, and
// returns the listeners among them.
func inherit(clusters int) ([]net.Listener, error) {
	var listeners []net.Listener
	var problems []error
	for fd := lockFD; fd < firstListenerFD+clusters; fd++ {
		unix.CloseOnExec(fd)
		if fd < firstListenerFD {
			continue
		}
		file := os.NewFile(uintptr(fd), "listener")
		listener, err := net.FileListener(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("take over a listener: %w", err))
			continue
		}
		_ = file.Close()
		listeners = append(listeners, listener)
	}
	return listeners, errors.Join(problems...)
}
