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

// endTimeout bounds the wait for the processes of a sandbox that was killed.
const endTimeout = 20 * time.Second

// Remove ends the sandbox of the directory, if one runs, and removes its files.
// It returns false when there was nothing. The supervisor is the first process
// of a PID namespace: when it is killed, the kernel kills every process of the
// sandbox, and the supervisor is gone only after the last of them.
func Remove(path string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	marked, err := isSandbox(path)
	if err != nil {
		return false, err
	}
	if !marked {
		return false, fmt.Errorf("%s is not a sandbox's directory: nothing was removed", path)
	}
	lock, err := end(path)
	if err != nil {
		return false, err
	}
	// held until the files are gone, so that no start takes the directory over
	defer func() { _ = lock.Close() }()
	if err := removeAll(path); err != nil {
		return false, fmt.Errorf("remove the sandbox's directory: %w", err)
	}
	return true, nil
}

// removeAll removes a tree in which pods may have left directories that even
// their owner must not write to.
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

// end kills the supervisor, if it lives, and returns the lock that it held. A
// start that is under way holds the lock before there is a supervisor: the
// supervisor is looked for until the lock is free.
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
			return nil, fmt.Errorf("end the sandbox in %s: its lock is held by a process other than its supervisor (%d): is a start of it under way?", path, record.PID)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killAndWait kills the recorded supervisor and waits until the kernel says
// that it has ended. Its entry in /proc would not do: it reads as a zombie as
// soon as its first thread has ended, while the last one still waits for the
// processes of the namespace.
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
	// the descriptor is held now, so the number cannot change its meaning
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
