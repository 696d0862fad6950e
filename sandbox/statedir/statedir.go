// Package statedir is the directory that holds everything of one sandbox, and
// the record in it of which process runs that sandbox.
//
// A lock that the kernel drops when its holder dies tells a running sandbox
// from what a crashed one left behind. The package removes a directory only
// when the record in it shows that the sandbox made it.
package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	recordFile = "sandbox.json"
	lockFile   = "lock"
)

// needed is the free space below which a sandbox is not started: etcd's data
// and the logs of a hub and two clusters take about 300 MiB in an hour.
const needed = 1 << 30

// Record says what runs in a directory.
type Record struct {
	// Kind is always the same: it marks the directory as a sandbox's.
	Kind string `json:"kind"`
	// PID is the supervisor's, StartTime its start in clock ticks after boot
	// (field 22 of /proc/PID/stat), so that a reused PID is not taken for it.
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"`
	// Clusters are the names of the hubs and the managed clusters.
	Clusters []string `json:"clusters"`
	// Hubs is how many of Clusters are hubs: the first ones.
	Hubs int `json:"hubs"`
	// Ports are the API servers' on 127.0.0.1, in the order of Clusters.
	Ports []int `json:"ports"`
}

const kind = "open-cluster-management-sandbox"

// ErrRunning says that a sandbox runs in the directory.
var ErrRunning = errors.New("a sandbox is running here already")

// Dir is a sandbox's directory, locked by this process or by the one that was
// handed Lock.
type Dir struct {
	Path string
	Lock *os.File
	// Leftover says that a crashed sandbox's files were removed.
	Leftover bool
}

// Acquire makes the directory, or takes over the one of a sandbox that has
// crashed. It fails with ErrRunning while one runs there, and on a directory
// that is not a sandbox's.
func Acquire(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create the sandbox's directory (set SANDBOX_DIR to one that can be written): %w", err)
	}
	marked, err := isSandbox(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's directory: %w", err)
	}
	if !marked && len(entries) > 0 {
		return nil, fmt.Errorf("%s exists and is not a sandbox's: set SANDBOX_DIR to an empty or a new directory", path)
	}
	d := &Dir{Path: path}
	if err := d.lock(); err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		d.Leftover = true
		if err := d.clear(); err != nil {
			return nil, errors.Join(err, d.Lock.Close())
		}
	}
	// after the leftovers are gone: they may be what filled the disk
	if err := enoughSpace(path, freeBytes); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path), d.Lock.Close())
	}
	if err := d.Write(Record{}); err != nil {
		return nil, errors.Join(err, d.Lock.Close())
	}
	return d, nil
}

// lock takes the lock without waiting.
func (d *Dir) lock() error {
	file, err := os.OpenFile(filepath.Join(d.Path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the sandbox's lock (set SANDBOX_DIR to a directory that can be written): %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("%s: %w: make sandbox-down ends it", d.Path, ErrRunning)
		}
		return fmt.Errorf("lock %s: %w", d.Path, err)
	}
	d.Lock = file
	return nil
}

// clear removes everything but the lock.
func (d *Dir) clear() error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fmt.Errorf("read the sandbox's directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.Path, entry.Name())); err != nil {
			return fmt.Errorf("remove what an earlier sandbox left: %w", err)
		}
	}
	return nil
}

// Write replaces the record.
func (d *Dir) Write(record Record) error {
	record.Kind = kind
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the sandbox's record: %w", err)
	}
	temporary := filepath.Join(d.Path, "."+recordFile)
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write the sandbox's record: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(d.Path, recordFile)); err != nil {
		return fmt.Errorf("write the sandbox's record: %w", err)
	}
	return nil
}

// Read returns the record of a directory; fs.ErrNotExist when there is none.
func Read(path string) (Record, error) {
	var record Record
	content, err := os.ReadFile(filepath.Join(path, recordFile))
	if err != nil {
		return record, fmt.Errorf("read the sandbox's record: %w", err)
	}
	if err := json.Unmarshal(content, &record); err != nil || record.Kind != kind {
		return record, fmt.Errorf("%s is not a sandbox's record", filepath.Join(path, recordFile))
	}
	return record, nil
}

// isSandbox says whether the directory is a sandbox's: by its record, or by
// having nothing but the lock in it, or nothing at all, as a start that was cut
// short leaves it.
func isSandbox(path string) (bool, error) {
	_, err := Read(path)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false, fmt.Errorf("read the sandbox's directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != lockFile && !strings.HasPrefix(entry.Name(), "."+recordFile) {
			return false, nil
		}
	}
	return true, nil
}

// freeBytes is the space that an ordinary user may still fill.
func freeBytes(path string) (uint64, error) {
	var fsStat unix.Statfs_t
	if err := unix.Statfs(path, &fsStat); err != nil {
		return 0, fmt.Errorf("look at the free space of %s: %w", path, err)
	}
	return fsStat.Bavail * uint64(fsStat.Bsize), nil
}

func enoughSpace(path string, freeBytes func(string) (uint64, error)) error {
	free, err := freeBytes(path)
	if err != nil {
		return err
	}
	if free < needed {
		return fmt.Errorf("%s has %d MiB free, a sandbox needs %d: free some, or set SANDBOX_DIR to another disk",
			path, free>>20, needed>>20)
	}
	return nil
}
