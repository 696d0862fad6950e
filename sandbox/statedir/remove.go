package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// endTimeout limits the wait for the processes of a killed sandbox.
const endTimeout = 20 * time.Second

// Remove ends the sandbox of the directory, if one runs, and removes its files. It returns false if
// the directory does not exist. The supervisor is the first process of a PID namespace: when it is
// killed, the kernel kills all processes of the sandbox, and the supervisor ends after the last one.
func Remove(path string) (bool, error) {
	if missing(path) {
		return false, nil
	}
	err := remove(path)
	if errors.Is(err, fs.ErrNotExist) || err != nil && missing(path) {
		err = nil // another call has removed it meanwhile
	}
	return err == nil, err
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func remove(path string) error {
	marked, err := isSandbox(path)
	if err != nil {
		return err
	}
	if !marked {
		return fmt.Errorf("%s is not a sandbox's directory: nothing was removed", path)
	}
	lock, err := end(path)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := removeFiles(path); err != nil {
		return fmt.Errorf("remove the sandbox's directory: %w", err)
	}
	return nil
}

// removeFiles removes the directory of a sandbox whose lock the caller has: the record after all other files, so that
// what is left of the directory is still a sandbox's, and then the lock, so that no other start uses the directory
// before. A directory that another start has taken over since then stays.
func removeFiles(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); name != recordFile && name != lockFile {
			if err := removeAll(filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{recordFile, lockFile} {
		if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

// removeAll removes a tree in which pods may have left directories that are read-only for their
// owner.
func removeAll(path string) error {
	if err := os.RemoveAll(path); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// end kills the supervisor, if it runs, and returns the lock, which the supervisor held. A start
// holds the lock before it starts the supervisor, so end looks for one until the lock is free.
func end(path string) (*os.File, error) {
	d := &Dir{Path: path}
	for deadline := time.Now().Add(endTimeout); ; {
		record, err := Read(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := killAndWait(record, time.Until(deadline)); err != nil {
			return nil, fmt.Errorf("end the sandbox in %s: %w", path, err)
		}
		err = d.lock()
		if err == nil {
			return d.Lock, nil
		}
		if !errors.Is(err, ErrRunning) {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("end the sandbox in %s: a process other than its supervisor (%d) holds its lock: is another start running?", path, record.PID)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killAndWait kills the recorded supervisor and waits for its end by a pidfd. Its entry in /proc is
// not enough: it shows a zombie as soon as the first thread has ended, while the last thread still
// waits for the processes of the namespace.
func killAndWait(record Record, timeout time.Duration) error {
	if record.PID == 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(record.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", record.PID, err)
	}
	defer func() { _ = unix.Close(fd) }()
	// with the descriptor open, the kernel does not reuse the process id
	if started, alive := ProcessStart(record.PID); !alive || started != record.StartTime {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", record.PID, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		n, err := unix.Poll(poll, int(max(time.Until(deadline), 0)/time.Millisecond)+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", record.PID, err)
		}
	}
	return fmt.Errorf("process %d does not end within %s", record.PID, timeout)
}
