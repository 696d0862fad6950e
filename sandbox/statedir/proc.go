package statedir

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ProcessStart returns the start time of a process, in clock ticks after boot, and whether the
// process exists.
func ProcessStart(pid int) (uint64, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	return parseStat(content)
}

// parseStat returns the start time in /proc/PID/stat, which is field 22. Field 2 is a name that may
// contain spaces and parentheses (proc_pid_stat(5)).
func parseStat(content []byte) (uint64, bool) {
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 20 {
		return 0, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return start, err == nil
}

// Process is a process of a sandbox.
type Process struct {
	PID  int
	Args []string
	// RSS is its resident memory in bytes, Private the anonymous part of it (RssAnon),
	// which no other process shares. The rest is mostly the program's file.
	RSS, Private int64
}

// Processes returns the processes on this machine with an argument that contains the text. All
// programs of a sandbox have arguments with paths in its directory, except a user's program for a
// fleet, which ProcessesWith finds.
func Processes(text string) []Process {
	return processes("cmdline", func(content []byte) bool { return bytes.Contains(content, []byte(text)) })
}

// ProcessesWith returns the processes on this machine with this environment variable, NAME=VALUE.
func ProcessesWith(variable string) []Process {
	return processes("environ", func(content []byte) bool {
		return slices.Contains(strings.Split(string(content), "\x00"), variable)
	})
}

// processes returns the processes whose file in /proc/PID matches.
func processes(file string, matches func([]byte) bool) []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil || !matches(content) {
			continue
		}
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		rss, private := ProcessMemory(pid)
		found = append(found, Process{PID: pid, Args: args, RSS: rss, Private: private})
	}
	return found
}

// ProcessMemory returns the resident memory of a process and the private part of it in bytes, zero
// if the process does not exist.
func ProcessMemory(pid int) (rss, private int64) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return statusBytes(content, "VmRSS"), statusBytes(content, "RssAnon")
}

// statusBytes returns a field of /proc/PID/status, which is in kB (proc_pid_status(5)), in bytes.
func statusBytes(content []byte, field string) int64 {
	for line := range strings.Lines(string(content)) {
		value, found := strings.CutPrefix(line, field+":")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kilobytes << 10
	}
	return 0
}
