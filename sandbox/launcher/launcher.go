// Package launcher starts and ends a sandbox. It prepares the directory, builds the
// programs, opens the ports on 127.0.0.1, and starts the supervisor in new namespaces. Package
// supervisor does everything inside them.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

// Up starts a sandbox and returns when every managed cluster has joined the hub and is
// available. When it fails, or ctx ends first, it removes the sandbox.
func Up(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	if err := container.CheckStatic(); err != nil {
		return err
	}
	if err := container.Check(ctx); err != nil {
		return err
	}
	dir, err := statedir.Acquire(options.Dir)
	if err != nil {
		return err
	}
	if dir.Leftover {
		options.say("removed the files of a crashed sandbox in %s", options.Dir)
	}
	defer func() { _ = dir.Lock.Close() }()
	err = start(ctx, options, dir)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: the sandbox was removed")
	} else if kept := keepLogs(options.Dir); kept != "" {
		err = fmt.Errorf("%w\n(the logs of this start are in %s)", err, kept)
	}
	// the supervisor, which Remove ends, holds the lock too
	_ = dir.Lock.Close()
	if _, removeErr := statedir.Remove(options.Dir); removeErr != nil {
		return errors.Join(err, removeErr)
	}
	return err
}

func start(ctx context.Context, options Options, dir *statedir.Dir) error {
	programs, err := build.Programs(ctx, build.Options{
		Module: options.Module, Out: options.Programs, Versions: options.Versions, Fleet: options.Fleet.Clusters > 0, Progress: options.Out,
	})
	if err != nil {
		return err
	}
	options.Programs = programs
	if err := options.addImages(); err != nil {
		return err
	}
	started := time.Now()
	record, listeners, err := options.listen()
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("create the progress pipe: %w", err)
	}
	defer func() { _ = reader.Close() }()
	recorded, tellRecorded, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("create the record's pipe: %w", err)
	}
	defer func() { _ = tellRecorded.Close() }()
	cmd, err := supervise(options, record.Clusters, append([]*os.File{dir.Lock, writer, recorded}, listeners...))
	_ = writer.Close()
	_ = recorded.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	record.PID = cmd.Process.Pid
	record.StartTime, _ = statedir.ProcessStart(record.PID)
	err = dir.Write(record)
	if err == nil {
		_, err = tellRecorded.Write([]byte{1})
	}
	if err == nil {
		err = supervisor.Follow(reader, func(step string) {
			options.say("%5.1fs  %s", time.Since(started).Seconds(), step)
		})
	}
	// an interrupt at the last moment counts too
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, ignoreDone(cmd.Process.Kill()), ignoreExit(cmd.Wait()))
	}
	record.Ready = true
	if err := dir.Write(record); err != nil {
		return errors.Join(err, ignoreDone(cmd.Process.Kill()), ignoreExit(cmd.Wait()))
	}
	options.say("%5.1fs  ready", time.Since(started).Seconds())
	return nil
}

// addImages maps the images.
func (o *Options) addImages() error {
	for _, mapping := range o.Images {
		name, root, err := images.Parse(mapping)
		if err != nil {
			return err
		}
		if err := images.In(o.Dir).Add(name, root); err != nil {
			return err
		}
	}
	return nil
}

// listen opens a free port of 127.0.0.1 for each cluster's API server, and one for a fleet, and returns
// the sandbox's record with the ports. They stay bound until the sandbox ends, so no other program can
// take them.
func (o *Options) listen() (record statedir.Record, files []*os.File, err error) {
	record = statedir.Record{Clusters: o.names(), Hubs: o.Hubs, Programs: o.Programs, Versions: o.Versions.Names()}
	ports := []*int{}
	record.Ports = make([]int, len(record.Clusters))
	for i := range record.Ports {
		ports = append(ports, &record.Ports[i])
	}
	if o.Fleet.Clusters > 0 {
		if err := control.RaiseDescriptors(); err != nil {
			return record, nil, err
		}
		record.Fleet = &statedir.Fleet{Cuttable: o.Fleet.Cuttable}
		ports = append(ports, &record.Fleet.Port)
	}
	for _, port := range ports {
		var file *os.File
		if file, *port, err = listenLocal(); err != nil {
			closeAll(files)
			return record, nil, fmt.Errorf("open a port for an API server: %w", err)
		}
		files = append(files, file)
	}
	return record, files, nil
}

// listenLocal listens on a free port of 127.0.0.1.
func listenLocal() (*os.File, int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = listener.Close() }()
	file, err := listener.(*net.TCPListener).File()
	return file, listener.Addr().(*net.TCPAddr).Port, err
}

// supervise starts the supervisor, which inherits the files as descriptors from 3 on.
func supervise(options Options, clusters []string, files []*os.File) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(options.Dir, "sandbox.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	args := []string{"supervise", "--dir=" + options.Dir, "--programs=" + options.Programs,
		fmt.Sprintf("--hubs=%d", options.Hubs), fmt.Sprintf("--hosted=%d", options.Hosted),
		"--certificate-life=" + options.CertificateLife.String(), fmt.Sprintf("--audit=%t", options.Audit), "--hub-as=" + options.HubAs,
		"--addon-auth=" + options.Agents.AddonAuth, "--addon-token-life=" + options.Agents.AddonTokenLife.String(),
		"--status-sync-interval=" + options.Agents.StatusSyncInterval.String(), "--feature-gates=" + options.FeatureGates.String()}
	for _, dir := range options.HostPaths {
		args = append(args, "--allow-host-path="+dir)
	}
	args = append(args, fleetArgs(options.Fleet)...)
	// OCM's programs leave files in the directory for temporary ones
	temporary := filepath.Join(options.Dir, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, fmt.Errorf("create the sandbox's directory for temporary files: %w", err)
	}
	cmd := exec.Command(self, append(args, clusters...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = files
	cmd.SysProcAttr = isolated()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor in namespaces of its own: %w", err)
	}
	return cmd, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// ignoreExit drops the exit status of the supervisor: its last message has the cause.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// ignoreDone drops the error of killing a process that has ended already.
func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
}

// keepLogs copies the logs of a sandbox that could not be started to a directory beside it,
// which the next failure replaces. It returns that directory, empty if there are no logs. It
// omits files that it cannot copy.
func keepLogs(dir string) string {
	kept := dir + ".failed-logs"
	if err := os.RemoveAll(kept); err != nil {
		return ""
	}
	found := false
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		target := filepath.Join(kept, strings.TrimPrefix(path, dir))
		if os.MkdirAll(filepath.Dir(target), 0o700) == nil && os.WriteFile(target, content, 0o600) == nil {
			found = true
		}
		return nil
	})
	if !found {
		return ""
	}
	return kept
}

// isolated returns the attributes of the supervisor's process: new namespaces, and a new
// session so that Ctrl-C in the terminal does not reach it.
func isolated() *syscall.SysProcAttr {
	attributes := container.Isolation()
	attributes.Setsid = true
	attributes.Cloneflags |= syscall.CLONE_NEWIPC
	return attributes
}
