package container

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what all processes of a container together use.
type Usage struct {
	// CPU is the processor time so far, with that of ended processes whose parents have
	// waited for them.
	CPU time.Duration
	// Memory is the resident memory in bytes. A page that several processes share counts
	// for each.
	Memory int64
}

// Measure returns the usage of each container; that of an ended one is zero. It finds their
// processes by their mount namespaces: further programs are in it, and so are the processes
// that share another container's PID namespace.
func Measure(containers []*Process) ([]Usage, error) {
	index := map[uint64]int{}
	for i, p := range containers {
		index[p.mounts] = i
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	usages := make([]Usage, len(containers))
	for _, dir := range all {
		var ns unix.Stat_t
		if unix.Stat(dir+"/ns/mnt", &ns) != nil {
			continue // it has ended, or belongs to someone else
		}
		i, ours := index[ns.Ino]
		if !ours {
			continue
		}
		content, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it has ended
		}
		usage := parseUsage(content)
		usages[i].CPU += usage.CPU
		usages[i].Memory += usage.Memory
	}
	return usages, nil
}

// tick is the unit of times in /proc/PID/stat, which is the same on all of Go's platforms.
const tick = 10 * time.Millisecond

// parseUsage returns a process's usage from /proc/PID/stat: the times are fields 14 to 17, the
// resident pages field 24. Field 2 is a name that may contain spaces and parentheses
// (proc_pid_stat(5)).
func parseUsage(stat []byte) Usage {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const first = 3 // the number of fields[0]
	if len(fields) <= 24-first {
		return Usage{}
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field-first], 10, 64) // the kernel writes numbers
		return n
	}
	return Usage{
		CPU:    time.Duration(number(14)+number(15)+number(16)+number(17)) * tick,
		Memory: number(24) * int64(os.Getpagesize()),
	}
}

// mountNamespace returns the number of the calling process's mount namespace, 0 if there is
// no /proc.
func mountNamespace() uint64 {
	var ns unix.Stat_t
	if unix.Stat("/proc/self/ns/mnt", &ns) != nil {
		return 0
	}
	return ns.Ino
}
