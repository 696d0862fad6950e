// Package statedir manages the directory that holds all files of one sandbox, and the record in it
// of the process that runs the sandbox.
//
// A lock distinguishes a running sandbox from the files of a crashed one: the kernel releases it when
// its holder dies. The package removes a directory only if its record shows that it is a sandbox's.
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

// needed is the free space that a start requires. The etcd data and the logs of a hub and two
// clusters grow by about 300 MiB an hour.
const needed = 1 << 30

// Record describes the sandbox of a directory.
type Record struct {
	// Kind marks the directory as a sandbox's; it is always the same.
	Kind string `json:"kind"`
	// PID is the supervisor's process id. StartTime, in clock ticks after boot (field 22
	// of /proc/PID/stat), distinguishes it from a later process with the same id.
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"`
	// Clusters are the names of the hubs and the managed clusters.
	Clusters []string `json:"clusters"`
	// Hubs is the number of hubs, which are the first of Clusters.
	Hubs int `json:"hubs"`
	// Ports are the API servers' ports on 127.0.0.1, in the order of Clusters.
	Ports []int `json:"ports"`
	// Programs is the directory of the programs that the sandbox runs.
	Programs string `json:"programs"`
	// Versions names those that differ from the pinned ones, for example "OCM v1.0.0".
	Versions []string `json:"versions,omitempty"`
	// Ready is true once all clusters have joined.
	Ready bool `json:"ready"`
	// Fleet describes the fleet of simulated clusters, nil if there is none.
	Fleet *Fleet `json:"fleet,omitempty"`
}

// Fleet describes a fleet.
type Fleet struct {
	// Cuttable is the number of clusters, the first ones, that can be cut off from the hub.
	Cuttable int `json:"cuttable"`
	// Port is the port of the clusters' APIs on 127.0.0.1.
	Port int `json:"port"`
}

const kind = "open-cluster-management-sandbox"

// ErrRunning means that a sandbox runs in the directory.
var ErrRunning = errors.New("a sandbox is running here already")

// Dir is a sandbox's directory. The processes that have Lock open hold its lock.
type Dir struct {
	Path string
	Lock *os.File
	// Leftover is true if Acquire has removed the files of a crashed sandbox.
	Leftover bool
}

// Acquire creates the directory, or takes over that of a crashed sandbox. The error is ErrRunning if
// a sandbox runs there. A non-empty directory that is not a sandbox's is an error too.
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
	// after the removal of leftovers, which may have filled the disk
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
	for {
		if err := d.tryLock(); err != nil || d.lockedItsFile() {
			return err
		}
		_ = d.Lock.Close()
	}
}

// lockedItsFile reports whether the locked file is the one in the directory. A call of Remove may have removed the
// file between its opening and its locking.
func (d *Dir) lockedItsFile() bool {
	locked, err := d.Lock.Stat()
	if err != nil {
		return false
	}
	file, err := os.Stat(d.Lock.Name())
	return err == nil && os.SameFile(locked, file)
}

func (d *Dir) tryLock() error {
	file, err := os.OpenFile(filepath.Join(d.Path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the sandbox's lock (set SANDBOX_DIR to a directory that can be written): %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("%s: %w: end it with ocm-sandbox down", d.Path, ErrRunning)
		}
		return fmt.Errorf("lock %s: %w", d.Path, err)
	}
	d.Lock = file
	return nil
}

// clear removes all files except the lock.
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
			return fmt.Errorf("remove the files of an earlier sandbox: %w", err)
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

// Read returns the record of a directory. The error is fs.ErrNotExist if there is none.
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

// Running reports whether the sandbox's supervisor runs.
func (r Record) Running() bool {
	started, alive := ProcessStart(r.PID)
	return alive && started == r.StartTime
}

// isSandbox reports whether the directory is a sandbox's: it has a record, or it is empty except for
// the lock, as after an interrupted start.
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
		if entry.Name() == recordFile && entry.Type().IsRegular() {
			return isSandbox(path) // a start has written it since Read
		}
		if entry.Name() != lockFile && !strings.HasPrefix(entry.Name(), "."+recordFile) {
			return false, nil
		}
	}
	return true, nil
}

// freeBytes returns the space that is available to an ordinary user.
func freeBytes(path string) (uint64, error) {
	var fsStat unix.Statfs_t
	if err := unix.Statfs(path, &fsStat); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", path, err)
	}
	return fsStat.Bavail * uint64(fsStat.Bsize), nil
}

func enoughSpace(path string, freeBytes func(string) (uint64, error)) error {
	free, err := freeBytes(path)
	if err != nil {
		return err
	}
	if free < needed {
		return fmt.Errorf("%s has %d MiB free, a sandbox needs %d: free some, or put it on another disk (SANDBOX_DIR; for run and Go tests: TMPDIR)",
			path, free>>20, needed>>20)
	}
	return nil
}
