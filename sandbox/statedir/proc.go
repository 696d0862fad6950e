package statedir

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ProcessStart returns when a process started, in clock ticks after boot, and
// whether there is one.
func ProcessStart(pid int) (uint64, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	return parseStat(content)
}

// parseStat reads the start time of /proc/PID/stat: field 22, where the second
// one is a name that may hold spaces and parentheses (proc_pid_stat(5)).
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
	// RSS is its resident memory in bytes, Private the part of it that no other
	// process shares (RssAnon): the rest is mostly the program's own file.
	RSS, Private int64
}

// Processes are the processes on this machine with an argument that contains
// the text: the programs of a sandbox are all given paths in its directory.
func Processes(text string) []Process {
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
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(cmdline, []byte(text)) {
			continue
		}
		args := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		rss, private := ProcessMemory(pid)
		found = append(found, Process{PID: pid, Args: args, RSS: rss, Private: private})
	}
	return found
}

// ProcessMemory is the resident memory of a process, and the private part of
// it, in bytes; zero when there is no such process.
func ProcessMemory(pid int) (rss, private int64) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return statusBytes(content, "VmRSS"), statusBytes(content, "RssAnon")
}

// statusBytes reads a field of /proc/PID/status, which is in kB (proc_pid_status(5)).
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
