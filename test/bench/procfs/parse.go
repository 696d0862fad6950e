package procfs

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go supports (proc_pid_stat(5), sysconf(3)).
const tick = 10 * time.Millisecond

// stat is what is needed of /proc/PID/stat.
type stat struct {
	parent int
	cpu    time.Duration
}

// parseStat reads fields 4, 14 and 15; the second field is a name that may hold
// spaces and parentheses (proc_pid_stat(5)).
func parseStat(content []byte) (stat, error) {
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 13 {
		return stat{}, fmt.Errorf("%q is not a process's stat", content)
	}
	var numbers [3]int64
	for i, field := range []int{1, 11, 12} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("a process's stat: %w", err)
		}
		numbers[i] = n
	}
	return stat{parent: int(numbers[0]), cpu: time.Duration(numbers[1]+numbers[2]) * tick}, nil
}

// statusBytes reads a field of /proc/PID/status, which is in kB of 1024 bytes.
func statusBytes(content []byte, field string) (int64, error) {
	for line := range strings.Lines(string(content)) {
		value, found := strings.CutPrefix(line, field+":")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s of a process: %w", field, err)
		}
		return kilobytes << 10, nil
	}
	return 0, fmt.Errorf("a process has no %s", field)
}

// parseLoad reads the load average of the last minute (proc_loadavg(5)).
func parseLoad(content []byte) (float64, error) {
	first, _, _ := strings.Cut(string(content), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("the machine's load: %w", err)
	}
	return load, nil
}

// splitArgs reads /proc/PID/cmdline.
func splitArgs(content []byte) []string {
	if len(content) == 0 {
		return nil // a kernel thread, or a process that has ended
	}
	return strings.Split(strings.TrimRight(string(content), "\x00"), "\x00")
}

// matches reports whether a process runs the program with the arguments, which may
// stand anywhere among its own.
func matches(args []string, program string, with ...string) bool {
	if len(args) == 0 || filepath.Base(args[0]) != program {
		return false
	}
	for _, argument := range with {
		if !slices.Contains(args[1:], argument) {
			return false
		}
	}
	return true
}

// descends reports whether a process is a descendant of another one.
func descends(parents map[int]int, pid, ancestor int) bool {
	for range len(parents) { // a snapshot that is not atomic might hold a circle
		parent, ok := parents[pid]
		if !ok {
			return false
		}
		if parent == ancestor {
			return true
		}
		pid = parent
	}
	return false
}
