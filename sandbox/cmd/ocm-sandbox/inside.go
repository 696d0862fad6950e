package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

// The descriptors that the supervisor inherits from package launcher.
const (
	lockFD = iota + 3
	progressFD
	recordedFD
	firstListenerFD
)

// superviseCommand returns the command that `up` runs inside the namespaces.
func superviseCommand(options *launcher.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "supervise CLUSTER...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, clusters []string) error {
			progress := supervisor.NewProgress(os.NewFile(progressFD, "progress"))
			err := supervise(cmd.Context(), options, clusters, progress)
			if err != nil {
				progress.Failed(err)
			}
			return err
		},
	}
	addShapeFlags(cmd, options)
	return cmd
}

func supervise(ctx context.Context, options *launcher.Options, clusters []string, progress *supervisor.Progress) error {
	count := len(clusters)
	if options.Fleet.Clusters > 0 {
		count++
	}
	listeners, err := inherit(count)
	if err != nil {
		return err
	}
	if err := awaitRecord(); err != nil {
		return err
	}
	if err := supervisor.Isolate(); err != nil {
		return err
	}
	return supervisor.Run(ctx, supervisor.Options{
		Dir: options.Dir, Programs: options.Programs, Clusters: clusters, Hubs: options.Hubs, Hosted: options.Hosted,
		HubAs: options.HubAs, CertificateLife: options.CertificateLife, Audit: options.Audit, Agents: options.Agents, Fleet: options.Fleet,
		FeatureGates: options.FeatureGates, HostPaths: options.HostPaths, Outside: listeners, Progress: progress,
	})
}

// awaitRecord waits until the launcher has recorded this process: `down` could not end a
// supervisor without a record.
func awaitRecord() error {
	file := os.NewFile(recordedFD, "recorded")
	defer func() { _ = file.Close() }()
	if _, err := file.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("the launcher ended before it recorded this supervisor: %w", err)
	}
	return nil
}

// inherit returns the inherited listeners, and keeps all inherited descriptors from the
// sandbox's programs.
func inherit(count int) ([]net.Listener, error) {
	var listeners []net.Listener
	var problems []error
	for fd := lockFD; fd < firstListenerFD+count; fd++ {
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
